"""Commands for sketch files: sketch, release, inspect."""
