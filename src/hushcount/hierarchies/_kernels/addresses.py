"""Internet addresses from text to numbers.

Text i is data[offsets[i] : offsets[i + 1]]. An IPv4 address becomes one number, its first part in the highest
bits. An IPv6 address becomes a row of 16 bytes in network order, because 128 bits are more than a number of
the machine; rows sort as the addresses do.

Only the canonical forms are taken: no leading zeros, blanks or shortened IPv4 addresses, because programs
disagree about what those mean. All other text is malformed: its number is -1, or a mask says so.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hushcount.compiled.kernel import kernel

_DOT, _COLON, _ZERO, _NINE = 46, 58, 48, 57


@kernel
def parse_quad(data: Any, start: Any, end: Any) -> Any:
    """Return four decimal numbers up to 255 with dots between them, as one number; -1 for all other text."""
    value, part, digits, dots = np.int64(0), np.int64(0), 0, 0
    if end - start > 15:
        return np.int64(-1)
    for place in range(start, end):
        octet = np.int64(data[place])
        if octet == _DOT and digits > 0:
            value, part, digits, dots = (value << 8) | part, np.int64(0), 0, dots + 1
        elif _ZERO <= octet <= _NINE and not (digits > 0 and part == 0) and 10 * part + octet - _ZERO <= 255:
            part, digits = 10 * part + octet - _ZERO, digits + 1
        else:
            return np.int64(-1)
    return (value << 8) | part if dots == 3 and digits > 0 else np.int64(-1)


@kernel
def parse_ipv4(data: Any, offsets: Any) -> Any:
    """Return the addresses as numbers; -1 for all other text."""
    leaves = np.empty(offsets.size - 1, np.int64)
    for index in range(leaves.size):
        leaves[index] = parse_quad(data, np.int64(offsets[index]), np.int64(offsets[index + 1]))
    return leaves


@kernel
def hex_digit(octet: Any) -> Any:
    """Return the value of a hexadecimal digit in either case; -1 for anything else."""
    value = np.int64(octet)
    if 48 <= value <= 57:
        return value - 48
    lower = value | 32
    return lower - 87 if 97 <= lower <= 102 else np.int64(-1)


@kernel
def read_group(data: Any, place: Any, end: Any) -> Any:
    """Return the value of one to four hexadecimal digits, or -1 for fewer or more, and the place after."""
    begin, value = place, np.int64(0)
    while place < end and hex_digit(data[place]) >= 0:
        value = (value << 4) | hex_digit(data[place])
        place += 1
        if place - begin > 4:
            return np.int64(-1), place
    return (value if place > begin else np.int64(-1)), place


@kernel
def after_colon(data: Any, place: Any, end: Any) -> Any:
    """Return the place after one or two colons, and whether there are two; -1 if malformed."""
    if place < end and data[place] != _COLON:
        return np.int64(-1), False
    if place + 1 < end and data[place + 1] == _COLON:
        return place + 2, True
    return (place + 1 if place + 1 < end else np.int64(-1)), False


@kernel
def read_groups(data: Any, start: Any, end: Any, groups: Any) -> Any:
    """Return how many groups there are, and before which there was a double colon; -1 if malformed."""
    count, gap, place = 0, -1, start
    while 0 <= place < end and count < 8:
        if place > start or data[place] == _COLON:
            place, double = after_colon(data, place, end)
            if place < 0 or (double and gap >= 0) or (place == start + 1 and not double):
                return -1, gap
            gap = count if double else gap
            if place == end:
                break
        begin = place
        value, place = read_group(data, place, end)
        if place < end and data[place] == _DOT:
            value, place = parse_quad(data, begin, end), end
            groups[count] = value >> 16
            count += 1
            value = value & 0xFFFF if value >= 0 and count < 8 else np.int64(-1)
        if value < 0:
            return -1, gap
        groups[count] = value
        count += 1
    return (count if place == end else -1), gap


@kernel
def parse_groups(data: Any, start: Any, end: Any, groups: Any) -> Any:
    """Fill in eight groups, of which a double colon leaves out one or more that are 0; False if malformed."""
    if end - start < 2 or end - start > 45:
        return False
    count, gap = read_groups(data, start, end, groups)
    if gap < 0 or count < 0:
        return count == 8
    for index in range(count - gap):
        groups[7 - index] = groups[count - 1 - index]
    groups[gap : 8 - (count - gap)] = 0
    return count < 8


@kernel
def spread(number: Any, leaf: Any) -> Any:
    """Write the 32 bits of an IPv4 address, three zeros after each, into 16 bytes."""
    for index in range(16):
        pair = (number >> (30 - 2 * index)) & 3
        leaf[index] = ((pair & 2) << 6) | ((pair & 1) << 3)


@kernel
def mapped_to(groups: Any) -> Any:
    """Return the IPv4 address that an IPv6 address stands for (::ffff:10.0.0.1), -1 for any other."""
    for group in range(5):
        if groups[group]:
            return np.int64(-1)
    return (groups[6] << 16) | groups[7] if groups[5] == 0xFFFF else np.int64(-1)


@kernel
def write_either(number: Any, groups: Any, leaf: Any) -> Any:
    """Write the version and an address: a number of IPv4, or if that is -1 eight groups of IPv6.

    An IPv4 address is spread over as many bits as IPv6 has: 4 bits of a row are one bit of the address.
    """
    if number < 0:
        number = mapped_to(groups)
    leaf[0] = 6 if number < 0 else 4
    if number >= 0:
        spread(number, leaf[1:])
        return
    for group in range(8):
        leaf[2 * group + 1] = groups[group] >> 8
        leaf[2 * group + 2] = groups[group] & 255


@kernel
def parse_either(data: Any, offsets: Any) -> Any:
    """Return addresses of both versions as rows of 17 bytes, and which of them are addresses."""
    leaves = np.zeros((offsets.size - 1, 17), np.uint8)
    good = np.zeros(offsets.size - 1, np.bool_)
    groups = np.zeros(8, np.int64)
    for index in range(good.size):
        start, end = np.int64(offsets[index]), np.int64(offsets[index + 1])
        number = parse_quad(data, start, end)
        good[index] = number >= 0 or parse_groups(data, start, end, groups)
        if good[index]:
            write_either(number, groups, leaves[index])
    return leaves, good


@kernel
def packed_either(rows: Any) -> Any:
    """Return addresses of 4 or of 16 bytes as rows of 17."""
    leaves = np.zeros((rows.shape[0], 17), np.uint8)
    groups = np.zeros(8, np.int64)
    for index in range(rows.shape[0]):
        for group in range(rows.shape[1] // 2):
            groups[group] = (np.int64(rows[index, 2 * group]) << 8) | rows[index, 2 * group + 1]
        number = (groups[0] << 16) | groups[1] if rows.shape[1] == 4 else np.int64(-1)
        write_either(number, groups, leaves[index])
    return leaves


@kernel
def parse_ipv6(data: Any, offsets: Any) -> Any:
    """Return the addresses as rows of 16 bytes, and which of them are addresses."""
    leaves = np.zeros((offsets.size - 1, 16), np.uint8)
    good = np.zeros(offsets.size - 1, np.bool_)
    groups = np.zeros(8, np.int64)
    for index in range(good.size):
        good[index] = parse_groups(data, np.int64(offsets[index]), np.int64(offsets[index + 1]), groups)
        if good[index]:
            for group in range(8):
                leaves[index, 2 * group] = groups[group] >> 8
                leaves[index, 2 * group + 1] = groups[group] & 255
    return leaves, good
