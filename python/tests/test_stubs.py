"""The stub says what the package has."""

import ast
import inspect
from pathlib import Path

import freeflow


def test_the_stub_has_every_name_and_argument():
    tree = ast.parse((Path(freeflow.__file__).parent / "__init__.pyi").read_text())
    functions, classes = ({n.name: n for n in tree.body if isinstance(n, kind)} for kind in (ast.FunctionDef, ast.ClassDef))
    for name in freeflow.__all__:
        assert name in functions or name in classes or name == "__version__", name
    for name, node in functions.items():
        real = getattr(freeflow, name)
        if inspect.isfunction(real):
            stated = {a.arg for a in node.args.args + node.args.kwonlyargs}
            assert {p for p, v in inspect.signature(real).parameters.items() if v.kind != v.VAR_KEYWORD} <= stated, name
    options = {a.arg for a in functions["register"].args.kwonlyargs}
    for model in ("flow", "ffd", "fluid", "demons", "rigid", "affine"):
        assert set(freeflow.option_names(model)) <= options, model
    for name in ("Image", "Transform", "Registration", "Context", "Surface"):
        stated = {n.name for n in classes[name].body if isinstance(n, ast.FunctionDef)}
        assert {m for m in vars(getattr(freeflow, name)) if not m.startswith("_")} <= stated, name


def test_what_is_public_is_described():
    for name in freeflow.__all__:
        thing = getattr(freeflow, name)
        described = {name: thing} if callable(thing) else {}
        if inspect.isclass(thing):
            described |= {f"{name}.{m}": getattr(thing, m) for m in vars(thing) if not m.startswith("_")}
        for what, of in described.items():
            text = of.__doc__ or ""
            assert " " in text and not text.splitlines()[-1].startswith(name + "("), what  # more than nanobind's own line
