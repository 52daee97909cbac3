"""Domain names, paths and rows of columns as components, the most general first:

    com 00 example 00 www          www.example.com with 3 levels
    com 00 example 00 ff           example.com, padded

A zero byte separates components, so that leaves sorted as bytes keep the leaves of a node together. The byte
0xff, which UTF-8 never has, stands for each component that a key lacks. A key that holds a zero byte, or a
component that could be mistaken for padding, is malformed.

Key i is data[offsets[i] : offsets[i + 1]], and so are leaves in the arrays that are returned. All leaves are
written into one array, one after the other, because their number of bytes is known only at the end; a
malformed key is written over by the next. A `span` is the first place of a key and the place after its last.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hushcount.compiled.kernel import kernel

DOMAIN, PATH, ROW = 0, 1, 2
_U = np.uint64
_BETWEEN, _MISSING = np.uint8(0), np.uint8(0xFF)
_HASH, _MINUS, _DOT, _SLASH, _COLON, _QUERY, _AT = 35, 45, 46, 47, 58, 63, 64


@kernel
def folded(octet: Any) -> Any:
    """Return an ASCII letter in lower case, any other byte as it is."""
    return octet | np.uint8(32) if 65 <= octet <= 90 else octet


@kernel
def pad(out: Any, place: Any, depth: Any) -> Any:
    """Fill in `depth` missing components after at least one."""
    for _ in range(depth):
        out[place] = _BETWEEN
        out[place + 1] = _MISSING
        place += 2
    return place


@kernel
def in_domain(octet: Any) -> Any:
    """Return whether a byte may be part of a domain name: no blank, control character or mark of a URL."""
    return octet > 32 and octet not in (127, 255, _SLASH, _COLON, _AT, _HASH, _QUERY, 91, 92, 93)


@kernel
def put_folded(data: Any, span: Any, out: Any, place: Any) -> Any:
    """Append one part of a domain name in lower case.

    Return the place after it, or -1 if it is malformed, and whether it has digits only.
    """
    start, end = span
    digits = True
    for index in range(start, end):
        octet = data[index]
        if not in_domain(octet):
            return np.int64(-1), False
        digits = digits and 48 <= octet <= 57
        out[place] = folded(octet)
        place += 1
    return (place if end > start else np.int64(-1)), digits


@kernel
def put_domain(data: Any, span: Any, depth: Any, out: Any, place: Any) -> Any:
    """Append the last `depth` parts of a domain name, the last one first; -1 if it is malformed."""
    start, end = span
    if end - start > 1 and data[end - 1] == _DOT:
        end -= 1
    level, at = 0, place
    while end >= start:
        begin = end
        while begin > start and data[begin - 1] != _DOT:
            begin -= 1
        if 0 < level < depth:
            out[at] = _BETWEEN
            at += 1
        after, digits = put_folded(data, (begin, end), out, at)
        if after < 0 or (level == 0 and digits):
            return np.int64(-1)
        if level < depth:
            at = after
        level += 1
        end = begin - 1
    return pad(out, at, depth - level)


@kernel
def after_scheme(data: Any, start: Any, end: Any) -> Any:
    """Return the place after `scheme://`, or the start if there is no scheme."""
    place = start
    while place < end:
        octet = data[place]
        letter = 97 <= (octet | 32) <= 122
        if not letter and (place == start or not (48 <= octet <= 57 or octet in (43, 45, _DOT))):
            break
        place += 1
    found = place > start and place + 2 < end and data[place] == _COLON
    return place + 3 if found and data[place + 1] == _SLASH and data[place + 2] == _SLASH else start


@kernel
def url_end(data: Any, start: Any, end: Any) -> Any:
    """Return where the path of a URL ends and a query or fragment begins; -1 if a byte is not allowed."""
    for place in range(start, end):
        octet = data[place]
        if octet in (_QUERY, _HASH):
            return place
        if octet in (_BETWEEN, _MISSING):
            return np.int64(-1)
    return end


@kernel
def put_host(data: Any, span: Any, out: Any, place: Any) -> Any:
    """Append the host of a URL, in lower case and without the user.

    Return the places after it, in the key and in `out`.
    """
    start, end = span
    slash = start
    while slash < end and data[slash] != _SLASH:
        slash += 1
    begin = slash
    while begin > start and data[begin - 1] != _AT:
        begin -= 1
    for index in range(begin, slash):
        out[place] = folded(data[index])
        place += 1
    return slash, place


@kernel
def put_parts(data: Any, span: Any, levels: Any, out: Any, place: Any) -> Any:
    """Append what stands between slashes up to a query.

    Return the place after it, or -1 if a byte is not allowed, and the level reached.
    """
    start, end = span
    level, depth = levels
    fresh = True
    for index in range(start, end):
        octet = data[index]
        if octet == _SLASH:
            fresh = True
            continue
        if octet == _QUERY:
            break
        if octet in (_BETWEEN, _MISSING):
            return np.int64(-1), level
        if fresh:
            fresh = False
            level += 1
            if 1 < level <= depth:
                out[place] = _BETWEEN
                place += 1
        if level <= depth:
            out[place] = octet
            place += 1
    return place, level


@kernel
def put_path(data: Any, span: Any, depth: Any, out: Any, place: Any) -> Any:
    """Append the first `depth` components of a URL or file path; -1 if it is malformed."""
    start, end = after_scheme(data, span[0], span[1]), span[1]
    at, level = place, 0
    if start > span[0]:
        end = url_end(data, start, end)
        if end > start and data[start] != _SLASH:
            start, at = put_host(data, (start, end), out, at)
            level = 1
            if at == place:
                return np.int64(-1)
    if end > start and level == 0 and data[start] == _SLASH:
        out[at] = _SLASH  # part of the first component
        at += 1
    at, level = put_parts(data, (start, end), (level, depth), out, at)
    return pad(out, at, depth - max(level, 1)) if at > place else np.int64(-1)


@kernel
def put_row(data: Any, span: Any, depth: Any, out: Any, place: Any) -> Any:
    """Append `depth` values, each written as length, colon, bytes, or a minus and a colon for a missing one.

    Return the place after them, or -1 if the row is malformed.
    """
    start, end = span
    for level in range(depth):
        length, digits = np.int64(0), 0
        if level > 0:
            out[place] = _BETWEEN
            place += 1
        if end - start >= 2 and data[start] == _MINUS and data[start + 1] == _COLON:
            out[place] = _MISSING
            place += 1
            start += 2
            continue
        while start < end and 48 <= data[start] <= 57 and digits < 10:
            length = 10 * length + np.int64(data[start]) - 48
            start += 1
            digits += 1
        if digits == 0 or start == end or data[start] != _COLON or length > end - start - 1:
            return np.int64(-1)
        start += 1
        if length == 1 and data[start] == _MISSING:
            return np.int64(-1)
        for _ in range(length):
            if data[start] == _BETWEEN:
                return np.int64(-1)
            out[place] = data[start]
            start += 1
            place += 1
    return place if start == end else np.int64(-1)


@kernel
def components(form: Any, data: Any, offsets: Any, depth: Any) -> Any:
    """Return the components of keys of one form, their offsets, and which keys are well-formed."""
    # Room for all components, the bytes between them, and padding in place of every component of every key.
    size = np.int64(offsets[-1]) - np.int64(offsets[0])
    out = np.empty(size + 2 * (depth + 1) * offsets.size, np.uint8)
    ends = np.zeros(offsets.size, np.int64)
    good = np.zeros(offsets.size - 1, np.bool_)
    for index in range(good.size):
        span = (np.int64(offsets[index]), np.int64(offsets[index + 1]))
        if form == DOMAIN:
            place = put_domain(data, span, depth, out, ends[index])
        elif form == PATH:
            place = put_path(data, span, depth, out, ends[index])
        else:
            place = put_row(data, span, depth, out, ends[index])
        good[index] = place >= 0
        ends[index + 1] = place if place >= 0 else ends[index]
    return out, ends, good
