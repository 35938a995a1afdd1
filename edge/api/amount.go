package api

import "strconv"

// Amount is cost, or a limit, in units of the rule, for people and programs to read: nothing is
// counted so. With up to 15 digits an Amount is written exactly.
type Amount float64

// String returns a without an exponent.
func (a Amount) String() string { return strconv.FormatFloat(float64(a), 'f', -1, 64) }
