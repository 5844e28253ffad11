"""Backends: the same pass over all rows in this process, or chunk by chunk where the rows are."""

from coterie.backend.backend import Backend, Chunk, LocalBackend, Task, Total, lie_elsewhere, open_backend

__all__ = ["Backend", "Chunk", "LocalBackend", "Task", "Total", "lie_elsewhere", "open_backend"]
