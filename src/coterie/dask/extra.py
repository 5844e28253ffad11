"""The extra `dask`: imported where it is used, so that coterie itself loads nothing of it."""

from __future__ import annotations

from typing import Any

__all__ = ["client_of", "distributed"]


def distributed() -> Any:
    """Return the module `distributed`.

    Raises
    ------
    ImportError
        If it is not installed; the message names the extra.
    """
    try:
        import distributed
    except ImportError as error:
        raise ImportError(
            "Fits on a Dask cluster need the extra 'dask' (pip install 'coterie[dask]'): " + str(error)
        ) from None
    return distributed


def client_of(client: Any = None) -> Any:
    """Return the client that was given, or the current one.

    Raises
    ------
    ValueError
        If there is none, or it is one for coroutines.
    """
    library = distributed()
    if client is None:
        try:
            client = library.default_client()
        except ValueError:
            raise ValueError(
                "There is no Dask client: make one by distributed.Client('tcp://HOST:8786') (or Client() for workers "
                "on this machine), or pass client=."
            ) from None
    if client.asynchronous:
        raise ValueError("client is one for coroutines: pass one made without asynchronous=True.")
    return client
