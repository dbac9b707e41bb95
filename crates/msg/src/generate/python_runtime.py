"""Flat layout v1 for numpy: what the generated modules of packages import.

The publisher of a message keeps a writable mapping, so nothing that was read once stays true. Every
accessor fetches a number or a reference once, and checks the fetched copy against the block's length,
which is this program's own. Arrays of numbers are views of the block's memory: no copy is made, and
an incorrect publisher may change them.
"""

import numpy as np

#: Elements of variable length: bytes from the start of the block, and numbers of elements.
REFERENCE = np.dtype([("offset", "<u8"), ("length", "<u4"), ("capacity", "<u4")])

_EXTERNAL = 1 << 31
_ALIGNMENT = 8


class FlatError(ValueError):
    """A message breaks a rule of the flat layout."""


def _fetch(block, at, size, bound):
    """Place and number of the elements that the reference at byte `at` names."""
    offset, counts = (int(word) for word in np.frombuffer(block, "<u8", 2, at))
    length, capacity = counts & 0xFFFFFFFF, counts >> 32
    if capacity & _EXTERNAL:
        raise FlatError(f"the field at byte {at} lives in an external buffer")
    if length == 0:
        return 0, 0
    if bound is not None and length > bound:
        raise FlatError(f"the field at byte {at} holds {length} elements, {bound} are allowed")
    if offset + length * size > len(block):
        raise FlatError(f"the reference at byte {at} leads outside of the block")
    if offset % min(size, _ALIGNMENT) and size in (1, 2, 4, 8):
        raise FlatError(f"the elements of the field at byte {at} are not aligned")
    return offset, length


class Structs:
    """An array or sequence of structs: a list that makes its elements when they are asked for."""

    def __init__(self, view, block, at, count):
        self._view, self._block, self._at, self._count = view, block, at, count

    def __len__(self):
        return self._count

    def __getitem__(self, index):
        if index < 0:
            index += self._count
        if not 0 <= index < self._count:
            raise IndexError(f"element {index} of {self._count}")
        return self._view(self._block, self._at + index * self._view.DTYPE.itemsize)

    def to_numpy(self):
        """All elements as a structured array over the block's memory, without a copy."""
        return np.frombuffer(self._block, self._view.DTYPE, self._count, self._at)


class View:
    """A message in the flat layout, read where it lies."""

    FIELDS = ()

    def __init__(self, block, at=0):
        """`block` has the buffer protocol: bytes, a memoryview, an mmap, a numpy array of bytes."""
        self._block = block if isinstance(block, memoryview) else memoryview(block).cast("B")
        self._at = at
        if at + self.DTYPE.itemsize > len(self._block):
            have = len(self._block)
            raise FlatError(f"{self.TYPE_NAME} needs {self.DTYPE.itemsize} bytes, there are {have}")

    def to_numpy(self):
        """The struct as a structured scalar array over the block's memory, without a copy."""
        return np.frombuffer(self._block, self.DTYPE, 1, self._at)[0]

    def to_dict(self):
        """All fields as Python values. Copies."""
        return {name.rstrip("_"): _plain(getattr(self, name)) for name in self.FIELDS}

    def _number(self, code, at):
        return np.frombuffer(self._block, code, 1, self._at + at)[0].item()

    def _array(self, code, at, count):
        return np.frombuffer(self._block, code, count, self._at + at)

    def _sequence(self, code, at, bound):
        size = np.dtype(code).itemsize
        offset, length = _fetch(self._block, self._at + at, size, bound)
        return np.frombuffer(self._block, code, length, offset)

    def _bytes_at(self, at, size, bound):
        offset, length = _fetch(self._block, at, size, bound)
        return bytes(self._block[offset : offset + length * size])

    def _text_at(self, at, wide, bound):
        # A copy first: the text that is checked is the text that is returned.
        if wide:
            return self._bytes_at(at, 2, bound).decode("utf-16-le", "replace")
        return self._bytes_at(at, 1, bound).decode("utf-8", "replace")

    def _text(self, at, bound):
        return self._text_at(self._at + at, False, bound)

    def _wide_text(self, at, bound):
        return self._text_at(self._at + at, True, bound)

    def _texts(self, at, count, wide, bound):
        start, size = self._at + at, REFERENCE.itemsize
        return [self._text_at(start + index * size, wide, bound) for index in range(count)]

    def _text_sequence(self, at, bound, wide, bound_of_text):
        size = REFERENCE.itemsize
        start, count = _fetch(self._block, self._at + at, size, bound)
        return [self._text_at(start + it * size, wide, bound_of_text) for it in range(count)]

    def _structs(self, view, at, count):
        return Structs(view, self._block, self._at + at, count)

    def _struct_sequence(self, view, at, bound):
        start, count = _fetch(self._block, self._at + at, view.DTYPE.itemsize, bound)
        return Structs(view, self._block, start, count)


def _plain(value):
    if isinstance(value, View):
        return value.to_dict()
    if isinstance(value, Structs):
        return [element.to_dict() for element in value]
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value
