"""Backends: run a pass over all rows in this process, or chunk by chunk on workers."""

from coterie.backend.backend import Backend, Chunk, LocalBackend, Task, Total, have_own_backend, open_backend

__all__ = ["Backend", "Chunk", "LocalBackend", "Task", "Total", "have_own_backend", "open_backend"]
