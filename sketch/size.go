package sketch

import "math"

// Width returns the cells a row needs so that a key's count is more than overcount above the truth
// with probability at most failure, when a window holds expected units in all:
//
//	P(over > a) <= (N / (width·a))^Rows   hence   width = N / (a·p^(1/Rows))
//
// which for p = e^-Rows is the textbook e·N/a. expected and overcount are positive, 0 < failure <
// 1.
func Width(expected, overcount, failure float64) int {
	return int(math.Ceil(expected / (overcount * math.Pow(failure, 1.0/Rows))))
}

// Bytes returns the memory of a sketch of that width.
func Bytes(width int) int { return width * Rows * CellBytes }
