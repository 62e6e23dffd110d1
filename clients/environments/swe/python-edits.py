"""Reads {path: text} as JSON and prints a list of edits, each a small change that may be a bug."""

import ast
import json
import re
import sys

COMPARE = {
    "==": "!=", "!=": "==", "is": "is not", "is not": "is", "in": "not in", "not in": "in",
    "<": ">=", ">": "<=", "<=": ">", ">=": "<",
}
OFF_BY_ONE = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
ARITHMETIC = {"+": "-", "-": "+", "*": "+", "/": "*", "//": "*", "%": "//", "&": "|", "|": "&", "<<": ">>", ">>": "<<"}
SYMBOLS = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Is: "is",
    ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in", ast.Add: "+", ast.Sub: "-", ast.Mult: "*",
    ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.BitAnd: "&", ast.BitOr: "|", ast.LShift: "<<", ast.RShift: ">>",
}
UNORDERED = (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)


class File:
    def __init__(self, path, text):
        self.path, self.text = path, text
        self.lines = text.encode("utf-8").splitlines(keepends=True)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))
        self.bytes = b"".join(self.lines)
        self.edits = []

    def place(self, line, column):
        return self.starts[line - 1] + column

    def span(self, node):
        return self.place(node.lineno, node.col_offset), self.place(node.end_lineno, node.end_col_offset)

    def of(self, node):
        start, end = self.span(node)
        return self.bytes[start:end].decode("utf-8")

    def units(self, place):
        """The UTF-16 units before a place in bytes."""
        return len(self.bytes[:place].decode("utf-8").encode("utf-16-le")) // 2

    def add(self, modifier, line, span, replacement):
        start, end = (self.units(place) for place in span)
        self.edits.append({"file": self.path, "modifier": modifier, "line": line, "start": start, "end": end, "replacement": replacement})

    def operator(self, modifier, before, symbol, after, replacement):
        """Replaces the operator between two operands, which may have parentheses around them."""
        start, end = self.span(before)[1], self.span(after)[0]
        between = self.bytes[start:end].decode("utf-8")
        words = re.escape(symbol).replace("\\ ", r"\s+")
        found = re.fullmatch(r"([)\s\\]*)(" + words + r")([(\s\\]*)", between)
        if found is not None:
            self.add(modifier, before.end_lineno, (start, end), found[1] + replacement + found[3])


def compare(file, node):
    operands = [node.left, *node.comparators]
    for before, operator, after in zip(operands, node.ops, operands[1:]):
        symbol = SYMBOLS[type(operator)]
        file.operator("flip-comparison", before, symbol, after, COMPARE[symbol])
        if symbol in OFF_BY_ONE:
            file.operator("off-by-one", before, symbol, after, OFF_BY_ONE[symbol])


def binary(file, node):
    symbol = SYMBOLS.get(type(node.op))
    is_text = isinstance(node.left, ast.Constant) and isinstance(node.left.value, str)
    if symbol in ARITHMETIC and not is_text:
        file.operator("change-operator", node.left, symbol, node.right, ARITHMETIC[symbol])
    if isinstance(node.op, UNORDERED) and not is_text:
        start, end = file.span(node)
        middle = file.bytes[file.span(node.left)[1]:file.span(node.right)[0]].decode("utf-8")
        if "(" not in middle and ")" not in middle and "#" not in middle:
            file.add("swap-operands", node.lineno, (start, end), file.of(node.right) + middle + file.of(node.left))


def boolean(file, node):
    symbol, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    for before, after in zip(node.values, node.values[1:]):
        file.operator("change-operator", before, symbol, after, other)


def constant(file, node):
    if isinstance(node.value, bool):
        file.add("change-constant", node.lineno, file.span(node), str(not node.value))
    elif isinstance(node.value, int) and file.of(node).isdigit():
        file.add("change-constant", node.lineno, file.span(node), str(node.value + 1))


def condition(file, node):
    text = file.of(node.test)
    if "#" not in text:
        file.add("invert-condition", node.lineno, file.span(node.test), "not (" + text + ")")


def statement(file, node, has_others):
    """Leaves a statement out. Where others follow or precede it, nothing shows its place; otherwise `pass` does."""
    if isinstance(node, ast.If) and not node.orelse and file.of(node).startswith("if"):
        modifier = "remove-conditional"
    elif isinstance(node, (ast.For, ast.While)):
        modifier = "remove-loop"
    elif isinstance(node, (ast.Assign, ast.AugAssign)):
        modifier = "remove-assignment"
    else:
        return
    start, end = file.span(node)
    before, after = file.starts[node.lineno - 1], file.starts[node.end_lineno]
    is_whole = not file.bytes[before:start].strip() and not file.bytes[end:after].strip()
    if has_others and is_whole:
        file.add(modifier, node.lineno, (before, after), "")
    else:
        file.add(modifier, node.lineno, (start, end), "pass")


VISITS = {ast.Compare: compare, ast.BinOp: binary, ast.BoolOp: boolean, ast.Constant: constant, ast.If: condition, ast.IfExp: condition}


def visit(file, node, is_inside, has_others=False):
    """Only the bodies of functions are changed: a changed constant of a module often breaks every test."""
    if is_inside:
        if type(node) in VISITS:
            VISITS[type(node)](file, node)
        statement(file, node, has_others)
    for name, value in ast.iter_fields(node):
        is_function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        if name in ("annotation", "returns", "decorator_list") or (is_function and name == "args" and not is_inside):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr):
                others = isinstance(value, list) and len(value) > 1
                visit(file, child, is_inside or (is_function and name == "body"), others)


edits = []
for path, text in json.load(sys.stdin).items():
    try:
        tree = ast.parse(text)
    except SyntaxError:
        continue
    file = File(path, text)
    visit(file, tree, False)
    edits += file.edits
json.dump(edits, sys.stdout)
