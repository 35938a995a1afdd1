// Package schema makes JSON Schema (draft-07) of the values that a configuration may have. Editors
// read it; the decoder of the file stays the judge of all that takes more than one place to see.
//
// A shape accepts each value that the decoder accepts. Some values that the decoder refuses are
// accepted: a pattern cannot compare durations, and JSON has no durations.
package schema

import (
	"maps"
	"strconv"
	"strings"
)

// Shape is a schema, by the keywords of JSON Schema. Not to be changed once made.
type Shape map[string]any

// With returns s with a keyword more.
func (s Shape) With(keyword string, x any) Shape {
	all := Shape{keyword: x}
	maps.Copy(all, s)
	all[keyword] = x
	return all
}

// Patterns of texts. In JSON Schema a pattern is searched for, so each has both ends.
const (
	duration = `^\+?(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`
	noTime   = `^\+?((0+\.?0*|\.0+)(ns|us|µs|μs|ms|s|m|h))+$`
	size     = `^(0|[1-9][0-9]*)(KiB|MiB|GiB)?$`
	share    = `^([0-9]+\.?[0-9]*|\.[0-9]+)$`
	percent  = `^([0-9]+\.?[0-9]*|\.[0-9]+)%$`
	port     = `0*([0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])`
	hostPort = `(\[[^\]]*\]|[A-Za-z0-9_.-]*):` + port
	byte4    = `(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])`
	ipv4     = byte4 + `(\.` + byte4 + `){3}(/(3[0-2]|[12]?[0-9]))?`
	// of IPv6 the places of the colons are left to the decoder
	ipv6 = `[0-9A-Fa-f]*:[0-9A-Fa-f]*:[0-9A-Fa-f:.]*(/(12[0-8]|1[01][0-9]|[1-9]?[0-9]))?`
)

// pattern is a text, where the file may have written a text that looks like a number.
func pattern(p string) Shape {
	return Shape{"type": []string{"string", "number", "boolean"}, "pattern": p}
}

// strict is a text that looks like nothing else.
func strict(p string) Shape { return Shape{"type": "string", "pattern": p} }

// Text is any single value, most bytes at most, of which an editor counts the characters.
func Text(most int) Shape {
	return Shape{"type": []string{"string", "number", "boolean"}, "maxLength": most}
}

// Name is 1 to most letters, digits, _, . and -.
func Name(most int) Shape { return pattern("^[A-Za-z0-9_.-]{1," + strconv.Itoa(most) + "}$") }

// NameOrNone is Name, or "".
func NameOrNone(most int) Shape { return pattern("^[A-Za-z0-9_.-]{0," + strconv.Itoa(most) + "}$") }

// Like is a text that the regular expression p describes, from end to end.
func Like(p string) Shape { return pattern("^(" + p + ")$") }

// Word is one of the words.
func Word(words ...string) Shape { return Shape{"enum": words} }

// Bool is true or false, in quotes too.
func Bool() Shape { return Shape{"enum": []any{true, false, "true", "false"}} }

// Whole is a whole number from low to high.
func Whole(low, high int64) Shape {
	return Shape{"type": "integer", "minimum": low, "maximum": high}
}

// Decimal is a number with digits behind the point, from 0 to high, in quotes too.
func Decimal(high int64) Shape {
	return Shape{
		"type": []string{"number", "string"}, "minimum": 0, "maximum": high, "pattern": share,
	}
}

// Duration is a time with its unit.
func Duration() Shape { return strict(duration) }

// Some is a duration above zero, or no duration at all.
func Some() Shape { return Shape{"not": strict(noTime)} }

// Size is an amount of memory from low to high, in bytes or with a unit.
func Size(low, high int64) Shape {
	return Shape{
		"type": []string{"integer", "string"}, "minimum": low, "maximum": high, "pattern": size,
	}
}

// Percent is a percentage, or one of the words.
func Percent(words ...string) Shape {
	p := percent
	for _, word := range words {
		p = "^" + word + "$|" + p
	}
	return strict(p)
}

// HostPort is a host and a port; empty is "", too.
func HostPort(empty bool) Shape { return strict("^(" + hostPort + ")" + orNone(empty)) }

// Weighted is a host and a port, or the path of a socket, with a weight behind.
func Weighted() Shape { return strict(`^\s*(` + hostPort + `|unix:/\S+)(\s+[0-9]+)?\s*$`) }

// Address is a host and a port or the path of a unix socket; empty is "", too.
func Address(empty bool) Shape { return strict("^(" + hostPort + "|unix:/.+)" + orNone(empty)) }

func orNone(empty bool) string {
	if empty {
		return "?$"
	}
	return "$"
}

// Network is an address or a network.
func Network() Shape { return strict("^(" + ipv4 + "|" + ipv6 + ")$") }

// Moment is a time of a day with its zone.
func Moment() Shape { return strict(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T.+(Z|[+-][0-9]{2}:[0-9]{2})$`) }

// List is a list of least to most items.
func List(least, most int, item Shape) Shape {
	return Shape{"type": "array", "minItems": least, "maxItems": most, "items": item}
}

// Map is a mapping of free names, each to an item; at most most.
func Map(most int, name, item Shape) Shape {
	return Shape{
		"type": "object", "maxProperties": most, "additionalProperties": item,
		"propertyNames": name,
	}
}

// AnyOf is a value of any of the shapes.
func AnyOf(shapes ...Shape) Shape { return Shape{"anyOf": shapes} }

// Ref is the definition called name.
func Ref(name string) Shape {
	// beside $ref draft-07 takes no other keyword
	return Shape{"allOf": []Shape{{"$ref": "#/definitions/" + name}}}
}

// Object is a mapping of known names.
func Object(properties map[string]Shape) Shape {
	return Shape{"type": "object", "additionalProperties": false, "properties": properties}
}

// Need is a mapping that has all of the names.
func Need(names ...string) Shape { return Shape{"required": names} }

// Has is a mapping that has name with a value of that shape.
func Has(name string, s Shape) Shape {
	return Shape{"required": []string{name}, "properties": map[string]Shape{name: s}}
}

// Never is a mapping that has not all of the names.
func Never(names ...string) Shape { return Shape{"not": Need(names...)} }

// If is any value outside cond, and then inside.
func If(cond, then Shape) Shape { return Shape{"if": cond, "then": then} }

// Plain returns a text of the reference without its notation for paragraphs.
func Plain(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\n\n", "\n"), "`", "")
}
