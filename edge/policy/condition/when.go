package condition

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// MaxWhen is the longest expression, in bytes. For reading, and far above the length of conditions
// in use; a longer condition is a match map with any and not.
const MaxWhen = 4096

// maxNesting bounds the brackets and negations nested in an expression. Each is a level of
// recursion, here and in whatever walks the tree.
const maxNesting = 64

// ParseWhen reads an expression: the typed part of CEL in the grammar below. The error is an
// *ExprError.
func ParseWhen(text string) (*Expr, error) {
	if len(text) > MaxWhen {
		return nil, &ExprError{0, fmt.Sprintf("an expression has at most %d bytes, this one has %d",
			MaxWhen, len(text))}
	}
	p := &parser{lexer: lexer{text: text}}
	if err := p.advance(); err != nil {
		return nil, err
	}
	e, err := p.or()
	if err != nil {
		return nil, err
	}
	if p.now.kind != tokenEnd {
		return nil, p.fault("an operator such as && or == is missing before %s", p.shown())
	}
	return e, nil
}

// parser reads an expression by recursive descent, a method for each line of the grammar, with a
// token of look-ahead: now.
type parser struct {
	lexer lexer
	now   token
	depth int
}

func (p *parser) advance() (err error) {
	p.now, err = p.lexer.next()
	return err
}

func (p *parser) fault(format string, args ...any) error {
	return &ExprError{p.now.at, fmt.Sprintf(format, args...)}
}

// shown returns the token to be read, for a message.
func (p *parser) shown() string {
	if p.now.kind == tokenEnd {
		return "the end"
	}
	return strconv.Quote(clip(p.now.text))
}

func (p *parser) is(sign string) bool { return p.now.kind == tokenSign && p.now.text == sign }

func (p *parser) isName(name string) bool { return p.now.kind == tokenName && p.now.text == name }

// expect reads sign, which must come now.
func (p *parser) expect(sign string) error {
	if !p.is(sign) {
		return p.fault("%s must stand here, not %s", sign, p.shown())
	}
	return p.advance()
}

// && binds more tightly than ||, as in CEL, Go and C.
func (p *parser) or() (*Expr, error) { return p.joined("||", p.and, Any) }

func (p *parser) and() (*Expr, error) { return p.joined("&&", p.not, All) }

// joined reads operands, at least 1, with sign in between. A single operand is itself, without a
// node around, so equal conditions are spelt alike.
func (p *parser) joined(
	sign string, operand func() (*Expr, error), join func(...*Expr) *Expr,
) (*Expr, error) {
	first, err := operand()
	if err != nil {
		return nil, err
	}
	list := []*Expr{first}
	for p.is(sign) {
		if err := p.advance(); err != nil {
			return nil, err
		}
		next, err := operand()
		if err != nil {
			return nil, err
		}
		list = append(list, next)
	}
	if len(list) == 1 {
		return first, nil
	}
	return join(list...), nil
}

// It recurses for brackets as well, by way of term, so depth counts both.
func (p *parser) not() (*Expr, error) {
	if p.depth++; p.depth > maxNesting {
		return nil, p.fault("more than %d brackets and negations inside one another", maxNesting)
	}
	defer func() { p.depth-- }()
	if !p.is("!") {
		return p.term()
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	e, err := p.not()
	if err != nil {
		return nil, err
	}
	return Not(e), nil
}

// comparisons are the operators standing between two values.
var comparisons = []string{"==", "!=", "<", "<=", ">", ">="}

func (p *parser) term() (*Expr, error) {
	if p.is("(") {
		if err := p.advance(); err != nil {
			return nil, err
		}
		e, err := p.or()
		if err != nil {
			return nil, err
		}
		return e, p.expect(")")
	}
	left, err := p.operand()
	if err != nil {
		return nil, err
	}
	switch {
	case p.now.kind == tokenSign && slices.Contains(comparisons, p.now.text):
		operator := p.now
		if err := p.advance(); err != nil {
			return nil, err
		}
		right, err := p.operand()
		if err != nil {
			return nil, err
		}
		return compare(left, operator, right)
	case p.isName("in"):
		if err := p.advance(); err != nil {
			return nil, err
		}
		return p.membership(left)
	case p.is("."):
		return p.method(left)
	}
	return nil, p.fault("a comparison must stand here, such as == or in, not %s", p.shown())
}

// operand is a value of an expression: a field, or a constant.
type operand struct {
	// for messages: faults of types are found after both sides were read
	at    int
	field Field // Kind 0: a constant
	kind  tokenKind
	text  string // of a constant; true and false are of kind tokenName
}

func (o operand) constant() bool { return o.field.Kind == 0 }

// whenFields are the fields an expression knows. Fewer than in a map: each must have a type in
// CEL's terms.
var whenFields = []string{"method", "host", "path", "client", "country", "asn", "status", "tier"}

// whenFamilies are those with a name in brackets.
var whenFamilies = map[string]FieldKind{"header": Header, "query": Query, "cookie": Cookie}

// Numbers are checked here, once; users may parse again without a look.
func (p *parser) operand() (operand, error) {
	o := operand{at: p.now.at, kind: p.now.kind, text: p.now.text}
	switch p.now.kind {
	case tokenString:
		return o, p.advance()
	case tokenNumber:
		if _, err := strconv.ParseInt(o.text, 10, 64); err != nil {
			return o, p.fault("%s is too large a number", clip(o.text))
		}
		return o, p.advance()
	case tokenName:
		// They are constants of a type no field has, so any comparison is told as a fault of types.
		if o.text == "true" || o.text == "false" {
			return o, p.advance()
		}
		return p.fieldOperand(o)
	}
	return o, p.fault("a value must stand here, not %s", p.shown())
}

// The message lists the fields: few, and fewer than in a map.
func (p *parser) fieldOperand(o operand) (operand, error) {
	if kind, ok := whenFamilies[o.text]; ok {
		if err := p.advance(); err != nil {
			return o, err
		}
		return p.inBrackets(o, kind)
	}
	if !slices.Contains(whenFields, o.text) {
		known := append(slices.Sorted(maps.Keys(whenFamilies)), whenFields...)
		return o, p.fault("%q is not a field; fields are %s", clip(o.text),
			strings.Join(known, ", "))
	}
	o.field = Field{Kind: fieldNames[o.text]}
	return o, p.advance()
}

// header["x-api-key"]; a name without quotes would be a variable in CEL.
func (p *parser) inBrackets(o operand, kind FieldKind) (operand, error) {
	if err := p.expect("["); err != nil {
		return o, err
	}
	if p.now.kind != tokenString {
		return o, p.fault("a name in quotes must stand here, not %s", p.shown())
	}
	field, err := namedField(kind, p.now.text)
	if err != nil {
		return o, p.fault("%v", err)
	}
	o.field = field
	if err := p.advance(); err != nil {
		return o, err
	}
	return o, p.expect("]")
}
