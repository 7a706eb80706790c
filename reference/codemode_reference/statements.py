"""What a program consists of: its tokens, and the expression that it ends in.

A reader of ECMAScript by its syntax, with a stack of its own and linear in the length of the
source. It presumes a program that an engine accepts as the body of an async function: what is wrong
with a program is the engine's to say, and of one that is wrong this only says something. That is
why no tree is needed: it is enough to know what each bracket is and where an operand is due. The
worker runs this too.
"""

from __future__ import annotations

from codemode_reference.tokens import (
    BAD,
    END,
    NAME,
    NUMBER,
    PRIVATE,
    PUNCTUATION,
    STRING,
    Tokens,
    plain,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from codemode_reference.tokens import Token

    # Begin and end of an expression, as offsets.
    Span: TypeAlias = tuple[int, int]

# What names are besides variables: what stands behind a dot, and what names a member.
PROPERTY, KEY = "property", "key"

# What a frame waits for.
_STATEMENT, _OPERAND, _OPERATOR, _MEMBER = "statement", "operand", "operator", "member"
_NAME, _ARROW, _BODY, _HEAD = "name", "arrow", "body", "head"
_FUNCTION, _CLASS, _CASES = "function", "class", "cases"

_LINE_BOUND = frozenset((_OPERAND, _STATEMENT, _ARROW))
_CONDITIONS = frozenset(("if", "while", "for", "with", "catch"))
_CONTINUED = frozenset(("else", "catch", "finally"))
_BARE = frozenset(("else", "try", "finally"))
_OPERAND_FOLLOWS = frozenset(("return", "throw", "var", "const", "case"))
_JUMPS = frozenset(("break", "continue", "debugger"))
_UNARY = frozenset(("typeof", "void", "delete", "new", "await"))
_BINARY = frozenset(("in", "instanceof"))
_PREFIXES = frozenset(("++", "--", "!", "~", "@", "{"))
_STEPS = frozenset(("++", "--"))
# What goes on with an operand of the line before, but not with one that was stepped.
_TRAILERS = frozenset(("(", "[", "`"))
_OPENERS = frozenset(("(", "[", "{", "`"))
_CLOSERS = frozenset((")", "]", "}"))


class _Frame:
    """An open bracket, or the program itself.

    `then` says what the frame around it waits for once it is closed.
    """

    __slots__ = (
        *("after", "awaits_while", "case", "choices", "generator", "heads", "heirs", "kind"),
        *("paren", "restricted", "star", "then", "waits", "word"),
    )

    def __init__(self, kind: str, waits: str, then: str = _OPERATOR) -> None:
        self.kind = kind
        self.waits = waits
        self.then = then
        self.word = ""  # the last token
        self.after = _OPERATOR  # what is waited for after the body of a function or class
        self.paren = ""  # what is waited for after the round brackets of a head
        self.heirs: list[str] = []  # `after` of classes whose body comes after what they extend
        self.star = False  # the next body is that of a generator
        self.generator = False
        self.restricted = False  # the next token belongs to the last one on the same line only
        self.choices = 0  # conditional operators without their colon
        self.case = False
        self.heads: list[str] = []  # statements whose last part is to come
        self.awaits_while = False


class Reader:
    """Reads `source` at once.

    `tokens` are all of them, `last` is the expression that is the last statement, declarations of
    functions and empty statements apart; None where the last one is no expression.
    """

    def __init__(self, source: str) -> None:
        self.tokens: list[Token] = []
        self.last: Span | None = None
        self._read = Tokens(source)
        self._frame = _Frame("block", _STATEMENT)
        self._stack: list[_Frame] = []
        self._first = -1
        self._end = -1
        self._open = False
        while self._step():
            pass
        if not self._stack and self._first >= 0:
            self.last = self._first, self._end

    def _step(self) -> bool:
        frame = self._frame
        token = self._read.next(
            operand=frame.waits in _LINE_BOUND,
            restricted=frame.restricted,
        )
        kind, start, end, after_line = token
        if kind in (END, BAD):
            # Text that is no token is no program either.
            self._first = -1 if kind == BAD else self._first
            return False
        text = self._read.text(token)
        if kind == NAME:
            text = plain(text)
            if frame.waits in (_NAME, _MEMBER):
                kind = PROPERTY if frame.waits == _NAME else KEY
        self.tokens.append((kind, start, end, after_line))
        if kind == PUNCTUATION and text in _CLOSERS:
            self._reach(end)
            self._close(text)
            return True
        if self._is_boundary(frame, kind, text, after_line=after_line):
            self._complete(frame)
        frame.restricted = False
        if frame.waits == _STATEMENT and self._begin(frame, kind, text, start):
            frame.word = text
            return True
        if text != ";" or self._stack:
            self._reach(end)
        self._continue(frame, kind, text)
        frame.word = text
        return True

    def _reach(self, end: int) -> None:
        if self._open:
            self._end = end

    # Brackets

    def _push(self, frame: _Frame) -> None:
        frame.generator = self._frame.generator
        self._stack.append(self._frame)
        self._frame = frame

    def _push_body(self, frame: _Frame, then: str) -> None:
        self._push(_Frame("block", _STATEMENT, then))
        self._frame.generator, frame.star = frame.star, False

    def _close(self, text: str) -> None:
        if not self._stack:
            self._first, self._open = -1, False
            return
        closed = self._frame
        if closed.kind == "template" and text == "}":
            self._chunk(closed)
            return
        self._frame = frame = self._stack.pop()
        frame.word = text
        if closed.then == _STATEMENT:
            self._complete(frame)
        elif closed.then == _HEAD:
            frame.waits = _STATEMENT
        else:
            frame.waits = closed.then

    def _chunk(self, template: _Frame | None) -> None:
        """The text of a template; `template` is its frame, where one is open."""
        token = self._read.chunk()
        self.tokens.append(token)
        self._reach(token[2])
        goes_on = self._read.text(token).endswith("${")
        if goes_on and template is None:
            self._push(_Frame("template", _OPERAND))
        elif goes_on:
            self._frame.waits = _OPERAND
        else:
            if template is not None:
                self._frame = self._stack.pop()
            self._frame.waits = _OPERATOR

    # Statements

    def _is_boundary(self, frame: _Frame, kind: str, text: str, *, after_line: bool) -> bool:
        """Whether a statement or a member ends before this token without a semicolon."""
        if frame.kind not in ("block", "class"):
            return False
        if frame.waits == _ARROW:
            return text not in (",", ":", ";")
        if not after_line or frame.waits not in (_OPERATOR, _OPERAND):
            return False
        if frame.restricted:
            return True
        if frame.waits == _OPERAND:
            return False
        if kind == NAME:
            return text not in _BINARY
        if kind == PUNCTUATION:
            stepped = frame.word in _STEPS and text in _TRAILERS
            return stepped or (text in _PREFIXES and not (text == "{" and frame.heirs))
        return kind in (NUMBER, STRING, PRIVATE)

    def _complete(self, frame: _Frame) -> None:
        """A statement has ended, and with it each one that it was the last part of."""
        if frame.kind == "class":
            frame.waits = _MEMBER
            return
        frame.waits, frame.choices, frame.case = _STATEMENT, 0, False
        while frame.heads and not frame.awaits_while:
            frame.awaits_while = frame.heads.pop() == "do"
        if not self._stack:
            self._open = False

    def _begin(self, frame: _Frame, kind: str, text: str, start: int) -> bool:
        """The first token of a statement; False where an expression begins with it."""
        if frame.awaits_while and text == ";":
            return True
        awaits_while, frame.awaits_while = frame.awaits_while, False
        if awaits_while and text == "while":
            frame.waits, frame.paren = _HEAD, _STATEMENT
            return True
        if awaits_while:
            # Something else goes on with what stands between: an `else`.
            frame.heads.append("do")
        if kind == PUNCTUATION and text == ";":
            self._complete(frame)
            return True
        outermost = not self._stack and not frame.heads
        declares = self._declares_function(kind, text)
        if outermost and not declares:
            self._first = -1
        if kind == PUNCTUATION and text == "{":
            self._push(_Frame("block", _STATEMENT, _STATEMENT))
            return True
        if declares or (kind == NAME and self._keyword(frame, text)):
            if declares:
                frame.waits, frame.after = _FUNCTION, _STATEMENT
            return True
        frame.waits = _OPERAND
        if outermost:
            self._first, self._open = start, True
        return False

    def _declares_function(self, kind: str, text: str) -> bool:
        if kind != NAME or text not in ("function", "async"):
            return False
        if text == "function":
            return True
        _, following, after_line = self._read.following()
        return following == "function" and not after_line

    def _keyword(self, frame: _Frame, text: str) -> bool:
        """A word that begins a statement which is no expression."""
        if text in _CONDITIONS:
            frame.heads.append(text)
            frame.waits, frame.paren = _HEAD, _HEAD
        elif text == "switch":
            frame.waits, frame.paren = _HEAD, _CASES
        elif text in _BARE or text == "do":
            frame.heads.append(text)
        elif text in _OPERAND_FOLLOWS or (text == "let" and self._let_declares()):
            frame.waits, frame.restricted = _OPERAND, text == "return"
            frame.case = text == "case"
        elif text in _JUMPS:
            frame.waits, frame.restricted = _OPERATOR, True
        elif text == "class":
            frame.waits, frame.after = _CLASS, _STATEMENT
        else:
            if self._read.following()[1] != ":":
                return False
            frame.waits, frame.case = _OPERATOR, True
            if text != "default":
                frame.heads.append("label")
        return True

    def _let_declares(self) -> bool:
        kind, text, _ = self._read.following()
        return text in ("[", "{") or (kind == NAME and text not in _BINARY)

    # Expressions and members

    def _continue(self, frame: _Frame, kind: str, text: str) -> None:
        if frame.waits == _MEMBER:
            self._member(frame, kind, text)
        elif kind == PUNCTUATION:
            self._punctuation(frame, text)
        elif frame.waits in (_FUNCTION, _HEAD, _CLASS):
            if text == "extends":
                frame.heirs.append(frame.after)
                frame.waits = _OPERAND
        elif kind == NAME and frame.waits != _NAME:
            self._word(frame, text)
        else:
            frame.waits = _OPERATOR

    def _member(self, frame: _Frame, kind: str, text: str) -> None:
        """In an object or a class, where the name of a member is due or has just been read."""
        if kind != PUNCTUATION:
            return
        if text == "[":
            self._push(_Frame("list", _OPERAND, _MEMBER))
        elif text == "(":
            frame.after = _MEMBER
            self._push(_Frame("group", _OPERAND, _BODY))
        elif text == "{":
            frame.star = False
            self._push_body(frame, _MEMBER)
        elif text in (":", "=", "...", "@"):
            frame.waits, frame.choices = _OPERAND, 0
        elif text in ("*", ",", ";"):
            frame.star = text == "*"

    def _word(self, frame: _Frame, text: str) -> None:
        if text in ("function", "class"):
            frame.waits = _FUNCTION if text == "function" else _CLASS
            frame.after = _OPERATOR
        elif frame.waits == _OPERATOR:
            if text in _BINARY or (text == "of" and frame.then == _HEAD):
                frame.waits = _OPERAND
        elif text == "yield" and frame.generator:
            frame.restricted = True
        elif text not in _UNARY:
            frame.waits = _OPERATOR

    def _punctuation(self, frame: _Frame, text: str) -> None:
        if text in _OPENERS:
            self._opens(frame, text)
        elif text in (".", "?."):
            frame.waits = _NAME
        elif text == ";":
            self._semicolon(frame)
        elif frame.waits == _FUNCTION:
            frame.star = text == "*"
        elif text not in _STEPS:
            # Those change nothing, behind an operand or before one.
            self._operator(frame, text)

    def _operator(self, frame: _Frame, text: str) -> None:
        frame.waits = _OPERAND
        if text == "," and frame.kind == "object":
            frame.waits = _MEMBER
        elif text == "?":
            frame.choices += 1
        elif text == ":" and frame.choices:
            frame.choices -= 1
        elif text == ":" and frame.case:
            frame.waits, frame.case = _STATEMENT, False

    def _opens(self, frame: _Frame, text: str) -> None:
        if text == "(":
            self._push(_Frame("group", _OPERAND, self._after_round(frame)))
        elif text == "[":
            self._push(_Frame("list", _OPERAND))
        elif text == "{":
            self._brace(frame)
        else:
            self._chunk(None)

    def _after_round(self, frame: _Frame) -> str:
        if frame.waits == _FUNCTION:
            return _BODY
        if frame.waits == _HEAD:
            return frame.paren
        return _OPERATOR

    def _brace(self, frame: _Frame) -> None:
        if frame.waits == _BODY:
            self._push_body(frame, frame.after)
        elif frame.waits == _CLASS:
            self._push(_Frame("class", _MEMBER, frame.after))
        elif frame.waits in (_CASES, _HEAD):
            self._push(_Frame("block", _STATEMENT, _STATEMENT))
        elif frame.waits == _OPERAND and frame.word == "=>":
            self._push_body(frame, _ARROW)
        elif frame.waits == _OPERATOR and frame.heirs:
            self._push(_Frame("class", _MEMBER, frame.heirs.pop()))
        else:
            self._push(_Frame("object", _MEMBER))

    def _semicolon(self, frame: _Frame) -> None:
        if frame.kind in ("block", "class"):
            self._complete(frame)
        else:
            frame.waits = _OPERAND
