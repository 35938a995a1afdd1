package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

var (
	errNotRegular = errors.New("not a regular file")
	errTooLarge   = errors.New("larger than 1 MiB")
)

// MaxFaults is how many faults of a file are reported. Nobody wrote a file with more by hand.
const MaxFaults = 1000

// Fault is a thing wrong with a configuration file, and where.
type Fault struct {
	File    string
	Line    int    // from 1; 0: not of a file
	Col     int    // in characters, from 1
	Path    string // such as rules[2].limit; "" when the fault is not about a field
	Message string
	Code    string // of a warning, such as path-slash; "" of a fault
	Policy  string // of a warning: the name of the policy; "": none
}

// String returns the fault as a line: file:line:column: [code] path: message.
func (f Fault) String() string {
	code := ""
	if f.Code != "" {
		code = "[" + f.Code + "] "
	}
	if f.Line == 0 {
		return fmt.Sprintf("%s: %s%s", f.File, code, f.Text())
	}
	return fmt.Sprintf("%s:%d:%d: %s%s", f.File, f.Line, f.Col, code, f.Text())
}

// Text returns the fault without its place: path: message.
func (f Fault) Text() string {
	if f.Path == "" {
		return f.Message
	}
	return f.Path + ": " + f.Message
}

// Faults is everything wrong with a file, sorted by position.
type Faults []Fault

// Error returns the faults, a line each.
func (fs Faults) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

// sort orders the faults by position; faults at the same position stay in order.
func (fs Faults) sort() {
	slices.SortStableFunc(fs, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
}

// bare takes the file name out of err: whoever wraps the error names the file already.
func bare(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}
