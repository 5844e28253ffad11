"""`coterie methods`: the methods, and the parameters of one."""

from __future__ import annotations

from typing import Any

from coterie.cli.errors import option_of
from coterie.cli.output import table_lines, tell
from coterie.cli.parameters import expected, find_offered, offered_methods, path_method, settable
from coterie.methods import Method
from coterie_command.options import Printed


def run_methods(name: str | None, options: Printed) -> int:
    """Print all methods, or the parameters of one."""
    if name is None:
        tell({"methods": [_facts(method) for method in offered_methods()]}, _method_lines, options)
        return 0
    method = path_method() if name in ("path", path_method().name) else find_offered(name, "coterie methods")
    parameters = [
        {
            "parameter": known.name,
            "values": expected(known),
            "default": None if known.name == method.clusters else _word(known.default),
            "help": known.param.help,
        }
        for known in settable(method).values()
    ]
    facts = {**_facts(method), "parameters": parameters}
    tell(facts, _parameter_lines, options)
    return 0


def _facts(method: Method) -> dict[str, Any]:
    return {
        "method": method.name,
        "estimator": f"{method.estimator.__module__.partition('.')[0]}.{method.estimator.__name__}",
        "finds": method.summary,
        "needs_k": method.needs_clusters,
        "takes_sparse": method.takes_sparse,
        "takes_labels": method.takes_labels,
    }


def _method_lines(facts: Any) -> list[str]:
    cells = [["method", "-k", "sparse rows", "finds"]]
    for one in facts["methods"]:
        yes = ["yes" if one[name] else "" for name in ("needs_k", "takes_sparse")]
        cells.append([one["method"], *yes, one["finds"]])
    return [*table_lines(cells, "<"), "", "coterie methods NAME lists the parameters of one."]


def _parameter_lines(facts: Any) -> list[str]:
    lines = [f"{facts['method']}: {facts['finds']}", ""]
    for one in facts["parameters"]:
        option = option_of(one["parameter"])
        option += "=" * option.startswith("-p")
        default = "" if one["default"] is None else f" (default {one['default']})"
        lines += [f"{option}  {one['values']}{default}", f"    {one['help']}"]
    return lines


def _word(value: Any) -> str:
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)
