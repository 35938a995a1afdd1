// Package scalar reads the single values of headgate.yaml: whole numbers, durations and sizes.
//
// Each reader takes a value's text and its range, and returns the value or an error in words for
// the person who wrote it, with a suggestion where one is near: "must be a duration with a unit,
// not "10": write 10s for seconds". Brief and InUnits write values as the readers accept them. Show
// and Clip put a faulty text into a message, cut to 64 bytes.
package scalar
