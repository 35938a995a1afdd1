package condition

import (
	"fmt"
	"strings"
)

// tokenKind is the kind of a token of an expression.
type tokenKind uint8

const (
	tokenEnd tokenKind = iota
	tokenName
	tokenString
	tokenNumber
	tokenSign // an operator or a bracket
)

// token is a token with the place.
type token struct {
	kind tokenKind
	text string // decoded, of a string
	at   int    // in bytes, from 0
}

// ExprError is a fault of an expression. At is the byte where it is, from 0.
// The configuration knows the line; this knows the character in it.
type ExprError struct {
	At      int
	Message string
}

// Error returns the fault with the place, counted from 1.
func (e *ExprError) Error() string { return fmt.Sprintf("at character %d: %s", e.At+1, e.Message) }

// signs are the operators and brackets, longer first. "<=" must be tried before "<".
var signs = []string{
	"&&", "||", "==", "!=", "<=", ">=", "<", ">", "!", "(",
	")", "[", "]", ".", ",",
}

// lexer splits an expression into tokens.
type lexer struct {
	text string
	at   int
}

// Bytes, not runes: outside strings the grammar is ASCII, and any other byte is a fault.
func (l *lexer) next() (token, error) {
	for l.at < len(l.text) && strings.IndexByte(" \t\r\n", l.text[l.at]) >= 0 {
		l.at++
	}
	if l.at == len(l.text) {
		return token{at: l.at}, nil
	}
	c := l.text[l.at]
	switch {
	case isLetter(c):
		return l.run(tokenName, func(c byte) bool { return isLetter(c) || isDigit(c) }), nil
	// There is no subtraction, so a minus before a digit belongs to the number.
	case isDigit(c), c == '-' && l.at+1 < len(l.text) && isDigit(l.text[l.at+1]):
		return l.run(tokenNumber, isDigit), nil
	case c == '"' || c == '\'':
		return l.quoted(c)
	}
	for _, sign := range signs {
		if strings.HasPrefix(l.text[l.at:], sign) {
			l.at += len(sign)
			return token{tokenSign, sign, l.at - len(sign)}, nil
		}
	}
	if c == '=' {
		return token{}, &ExprError{l.at, "'=' is not part of an expression: write =="}
	}
	return token{}, &ExprError{l.at, fmt.Sprintf("%q is not part of an expression", c)}
}

// run takes the first byte and the bytes belonging behind.
func (l *lexer) run(kind tokenKind, belongs func(byte) bool) token {
	begin := l.at
	for l.at++; l.at < len(l.text) && belongs(l.text[l.at]); {
		l.at++
	}
	return token{kind, l.text[begin:l.at], begin}
}

// escapes are the characters that may follow a backslash in a string. Those of CEL standing for a
// character each. \x, \u and octal are not here: what they are for can be written as it is.
var escapes = map[byte]byte{
	'\\': '\\', '"': '"', '\'': '\'', '`': '`', '?': '?', 'n': '\n', 'r': '\r', 't': '\t',
}

// "it's" and 'he said "no"' need no escape. A string ends on the same line, so a forgotten quote
// does not swallow the rest of the file.
func (l *lexer) quoted(quote byte) (token, error) {
	begin := l.at
	var text []byte
	for l.at++; l.at < len(l.text); l.at++ {
		c := l.text[l.at]
		switch c {
		case quote:
			l.at++
			return token{tokenString, string(text), begin}, nil
		case '\n':
			return token{}, &ExprError{begin, "the string has no end on its line"}
		case '\\':
			if l.at++; l.at == len(l.text) {
				continue
			}
			escaped, ok := escapes[l.text[l.at]]
			if !ok {
				return token{}, &ExprError{
					l.at - 1,
					"this escape is not known; a backslash is written twice",
				}
			}
			c = escaped
		}
		text = append(text, c)
	}
	return token{}, &ExprError{begin, "the string has no end"}
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
