"""Cells of servers (section 5.5): buddy allocation as in HiveD, and quotas that are whole servers.

A cell of a server of 8 GPUs has 1, 2, 4 or 8 of them and begins at a multiple of its size; its buddy is the other half
of the cell of twice the size. Jobs never leave their cells.
"""

from __future__ import annotations

from dataclasses import dataclass, field

SERVER_GPUS = 8
SIZES = (1, 2, 4, 8)


@dataclass(frozen=True, order=True)
class Cell:
    """The GPUs `first` to `first + size - 1` of a server."""

    server: int
    first: int
    size: int

    @property
    def buddy(self) -> Cell:
        """The cell that with this one makes one of twice the size."""
        return Cell(self.server, self.first ^ self.size, self.size)

    @property
    def parent(self) -> Cell:
        """The cell of twice the size that this one is half of."""
        return Cell(self.server, self.first & ~self.size, 2 * self.size)


@dataclass
class Buddies:
    """Free cells of `servers` servers: the smallest that will do is split, and halves that are both free are merged."""

    servers: int
    free: dict[int, set[Cell]] = field(init=False)

    def __post_init__(self) -> None:
        self.free = {size: set() for size in SIZES}
        self.free[SERVER_GPUS] = {Cell(server, 0, SERVER_GPUS) for server in range(self.servers)}

    def take(self, size: int, *, last: bool = False) -> Cell | None:
        """A free cell of `size` GPUs, no longer free; `None` where there is none.

        Of the free cells of the smallest size that will do the first is taken, or the `last`.
        """
        for larger in SIZES[SIZES.index(size) :]:
            if self.free[larger]:
                cell = (max if last else min)(self.free[larger])
                self.free[larger].remove(cell)
                while cell.size > size:
                    half = Cell(cell.server, cell.first, cell.size // 2)
                    cell, other = (half.buddy, half) if last else (half, half.buddy)
                    self.free[half.size].add(other)
                return cell
        return None

    def give_back(self, cell: Cell) -> None:
        """A cell is free again."""
        while cell.size < SERVER_GPUS and cell.buddy in self.free[cell.size]:
            self.free[cell.size].remove(cell.buddy)
            cell = cell.parent
        self.free[cell.size].add(cell)

    @property
    def whole(self) -> int:
        """Servers of which every GPU is free."""
        return len(self.free[SERVER_GPUS])

    def largest(self) -> int:
        """The size of the largest free cell, 0 where nothing is free."""
        return max((size for size in SIZES if self.free[size]), default=0)
