package condition

import (
	"cmp"
	"fmt"
	"net/netip"
	"strconv"
)

// mirrored are the operators for exchanged sides.
// 5 < asn is asn > 5.
var mirrored = map[string]string{"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

// compare makes the condition that left and right compare so. A field stands on the left of every
// test: a constant on the left changes sides, and the operator with it.
func compare(left operand, operator token, right operand) (*Expr, error) {
	sign := operator.text
	switch {
	case left.constant() && right.constant():
		return compareConstants(left, operator, right)
	case left.constant():
		left, right, sign = right, left, mirrored[sign]
	}
	if !right.constant() {
		return compareFields(left, sign, right)
	}
	if err := left.typed(right); err != nil {
		return nil, err
	}
	// Never a comparison apart: an absent field is not equal to anything, so != must hold.
	if sign == "!=" {
		e, err := left.sided("==", right)
		return Not(e), err
	}
	return left.sided(sign, right)
}

// typed reports a constant that cannot be a value of the field.
// CEL would say so at run time; here it is a fault of the file.
func (o operand) typed(constant operand) error {
	switch {
	case o.field.IsNumber() && constant.kind != tokenNumber:
		return &ExprError{
			constant.at,
			fmt.Sprintf("%s is a number, %s is not", o.field, strconv.Quote(clip(constant.text))),
		}
	case !o.field.IsNumber() && constant.kind != tokenString:
		return &ExprError{
			constant.at,
			fmt.Sprintf("%s is text: write %s in quotes", o.field, clip(constant.text)),
		}
	}
	if o.field.IsAddress() {
		if a, err := netip.ParseAddr(constant.text); err != nil || a.Zone() != "" {
			return &ExprError{
				constant.at,
				fmt.Sprintf("client is an address, %s is not; networks stand in sets",
					strconv.Quote(clip(constant.text))),
			}
		}
	}
	return nil
}

// sided makes the comparison of a field with a constant of the same type, by any sign but !=, which
// is the negation of ==: so != holds for an absent field. Texts are ordered by their bytes.
func (o operand) sided(sign string, constant operand) (*Expr, error) {
	switch {
	case o.field.IsNumber():
		n, _ := strconv.ParseInt(constant.text, 10, 64) // checked when it was read
		return o.one(numberWant(sign, n)), nil
	case sign == "==":
		return o.one(o.equal(constant.text)), nil
	case o.field.IsAddress():
		return nil, &ExprError{o.at, "client takes ==, != and in only"}
	}
	w := Want{Kind: WantBelow, Text: constant.text}
	if sign[0] == '>' {
		w.Kind = WantAbove
	}
	// >= and <=: above or equal, below or equal. Wants of a test are joined by "or".
	if len(sign) == 2 {
		return o.one(w, Want{Kind: WantText, Text: constant.text}), nil
	}
	return o.one(w), nil
}

// numberWant turns a comparison with n into a range. A number that is absent is outside all of
// them. Bounds are included, so < 5 is up to 4. A range that is empty, as of asn < 0, never holds.
func numberWant(sign string, n int64) Want {
	const most = 1 << 40 // above every number of a request
	// So n+1 and n-1 cannot overflow.
	n = min(max(n, -most), most)
	w := Want{Kind: WantRange, low: 0, high: most}
	switch sign {
	case "==":
		w.low, w.high = n, n
	case "<":
		w.high = n - 1
	case "<=":
		w.high = n
	case ">":
		w.low = n + 1
	case ">=":
		w.low = n
	}
	return w
}

// equal returns the comparison with a text, for fields other than numbers. ::ffff:192.0.2.1 is
// 192.0.2.1, as in requests.
func (o operand) equal(text string) Want {
	if o.field.IsAddress() {
		a, _ := netip.ParseAddr(text) // checked by typed
		a = a.Unmap()
		return Want{Kind: WantNet, Net: netip.PrefixFrom(a, a.BitLen())}
	}
	return Want{Kind: WantText, Text: text}
}

// one returns the condition of a field in wants.
func (o operand) one(wants ...Want) *Expr {
	return &Expr{Op: OpTest, Test: &Test{Field: o.field, number: -1, Wants: wants}}
}

// host == header["x-forwarded-host"], for instance. The first value of the second field is compared
// with each of the first.
func compareFields(left operand, sign string, right operand) (*Expr, error) {
	if left.field.IsNumber() || right.field.IsNumber() || left.field.IsAddress() ||
		right.field.IsAddress() {
		return nil, &ExprError{
			right.at,
			"only fields that are text can be compared with one another",
		}
	}
	e := left.one(Want{Kind: WantField, field: right.field, number: -1})
	switch sign {
	case "==":
		return e, nil
	case "!=":
		return Not(e), nil
	}
	return nil, &ExprError{right.at, "fields can be compared with one another by == and != only"}
}

// compareConstants decides a comparison no request changes. 5 < 6 and "a" == "b" are folded here,
// so no request pays for them.
func compareConstants(left operand, operator token, right operand) (*Expr, error) {
	if left.kind != right.kind {
		return nil, &ExprError{operator.at, "the two sides are not of one type"}
	}
	order := cmp.Compare(left.text, right.text)
	if left.kind == tokenNumber {
		a, _ := strconv.ParseInt(left.text, 10, 64) // checked when they were read
		b, _ := strconv.ParseInt(right.text, 10, 64)
		order = cmp.Compare(a, b)
	}
	holds := map[string]bool{
		"==": order == 0, "!=": order != 0, "<": order < 0, "<=": order <= 0,
		">": order > 0, ">=": order >= 0,
	}
	return constant(holds[operator.text]), nil
}

// membership reads the operand of "in". "x-debug" in header asks whether x-debug was sent, as CEL
// asks for a key of a map.
func (p *parser) membership(left operand) (*Expr, error) {
	switch {
	case p.is("["):
		return p.list(left)
	case p.isName("sets"):
		return p.inSet(left)
	case p.now.kind == tokenName && left.constant() && left.kind == tokenString:
		kind, ok := whenFamilies[p.now.text]
		if !ok {
			break
		}
		field, err := namedField(kind, left.text)
		if err != nil {
			return nil, &ExprError{left.at, err.Error()}
		}
		return operand{field: field}.one(Want{Kind: WantPresent}), p.advance()
	}
	return nil, p.fault("a list, sets.NAME, header, query or cookie must follow in, not %s",
		p.shown())
}

func (p *parser) inSet(left operand) (*Expr, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	if err := p.expect("."); err != nil {
		return nil, err
	}
	if p.now.kind != tokenName {
		return nil, p.fault("the name of a set must stand here, not %s", p.shown())
	}
	if left.constant() {
		return nil, &ExprError{left.at, "a field must stand before in sets"}
	}
	return left.one(Want{Kind: WantSet, Text: p.now.text}), p.advance()
}

// list reads [a, b, …] of constants. Each item is compared as by ==, so types and addresses are
// checked in a single place.
func (p *parser) list(left operand) (*Expr, error) {
	begin := p.now
	if err := p.advance(); err != nil {
		return nil, err
	}
	var items []*Expr
	for !p.is("]") {
		if len(items) > 0 {
			if err := p.expect(","); err != nil {
				return nil, err
			}
		}
		item, err := p.operand()
		if err != nil {
			return nil, err
		}
		if !item.constant() {
			return nil, &ExprError{item.at, "a list holds strings and numbers only"}
		}
		e, err := compare(left, token{tokenSign, "==", begin.at}, item)
		if err != nil {
			return nil, err
		}
		items = append(items, e)
	}
	return oneTest(items), p.advance()
}

// oneTest joins tests of the same field. asn in [1, 2, 3] is a single test with three ranges, and
// can go where a test can: into a table.
func oneTest(items []*Expr) *Expr {
	if len(items) == 0 || items[0].Op != OpTest {
		return Any(items...)
	}
	joined := *items[0].Test
	joined.Wants = nil
	for _, e := range items {
		joined.Wants = append(joined.Wants, e.Test.Wants...)
	}
	return &Expr{Op: OpTest, Test: &joined}
}

// methods are the functions of a text. CEL's names. matches is unanchored, as there: ^ and $ are
// written where meant.
var methods = map[string]WantKind{
	"startsWith": WantPrefix, "endsWith": WantSuffix,
	"contains": WantInside, "matches": WantRegexp,
}

// method reads .startsWith("…") and its like.
func (p *parser) method(left operand) (*Expr, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	kind, ok := methods[p.now.text]
	if p.now.kind != tokenName || !ok {
		return nil, p.fault("startsWith, endsWith, contains or matches must stand here, not %s",
			p.shown())
	}
	if left.constant() || left.field.IsNumber() || left.field.IsAddress() {
		return nil, &ExprError{left.at, "a field that is text must stand before " + p.now.text}
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if err := p.expect("("); err != nil {
		return nil, err
	}
	w := Want{Kind: kind, Text: p.now.text}
	if p.now.kind != tokenString {
		return nil, p.fault("a string must stand here, not %s", p.shown())
	}
	if kind == WantRegexp {
		// Once, when the file is read: requests only match.
		re, err := compile(w.Text)
		if err != nil {
			return nil, p.fault("%v", err)
		}
		w.re = re
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	return left.one(w), p.expect(")")
}
