"""scikit-learn's own callbacks, where the installed version has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

try:  # scikit-learn >= 1.9
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks yet."""

    def with_callbacks(fit: Callable[..., Any]) -> Callable[..., Any]:
        """Return the fit as it is: this scikit-learn has no callbacks."""
        return fit


__all__ = ["CallbackSupportMixin", "with_callbacks"]
