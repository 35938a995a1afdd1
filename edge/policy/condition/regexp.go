package condition

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

// MaxRegexp is the longest regular expression in bytes, and the longest program of an expression,
// in instructions. A short text can make a long program, such as (a{1000}){1000}: so both are
// bounded. Memory is some hundred bytes an instruction.
const MaxRegexp = 1024

// compile compiles a regular expression within bounds.
func compile(text string) (*regexp.Regexp, error) {
	if len(text) > MaxRegexp {
		return nil, fmt.Errorf("a regular expression has at most %d bytes, this one has %d",
			MaxRegexp, len(text))
	}
	// The package regexp does the same steps and does not say how long the program is.
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("the regular expression is at fault: %w", err)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, fmt.Errorf("the regular expression is at fault: %w", err)
	}
	if len(program.Inst) > MaxRegexp {
		return nil, fmt.Errorf("the regular expression makes a program of %d instructions, %d "+
			"are allowed", len(program.Inst), MaxRegexp)
	}
	return regexp.MustCompile(text), nil
}
