"""Every connection to DuckDB has the same options, and none prints or downloads anything."""

import ast
from pathlib import Path

import hushcount
from hushcount.stores.duckdb import MEMORY, connect


def setting(connection, name):
    return connection.execute("SELECT current_setting(?)", [name]).fetchone()[0]


def test_options(tmp_path):
    with connect(str(tmp_path)) as connection:
        assert setting(connection, "temp_directory") == str(tmp_path)
        assert setting(connection, "memory_limit") == "488.2 MiB" if MEMORY == "512MB" else MEMORY
        assert setting(connection, "threads") == 2
        assert setting(connection, "preserve_insertion_order") is True
        assert setting(connection, "autoinstall_known_extensions") is False
        assert setting(connection, "enable_progress_bar_print") is False


def test_without_a_folder_nothing_goes_to_disk():
    with connect() as connection:
        assert setting(connection, "temp_directory") == ""


def test_nobody_else_connects():
    root = Path(hushcount.__file__).parent
    for path in root.rglob("*.py"):
        calls = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        connects = [call for call in calls if ast.unparse(call) == "duckdb.connect"]
        assert not connects or path == root / "stores" / "duckdb.py", path
