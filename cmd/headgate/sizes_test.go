package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// mostLines is the most lines of source that a package may have.
const mostLines = 3000

// largeRooms may have more, with the reason.
var largeRooms = map[string]string{
	"edge/gate":   "one decision over counts, flags and places, under locks that come in one order: its tables have rooms of their own",
	"edge/config": "one reading of one file: each field beside the others that it depends on",
	"edge/policy": "the walk over conditions, and what of it outlives a request in a ticket",
	"window":      "slots, marks and what is shared are one room under one lock",
}

// TestRoomsAreSmall keeps each package small enough to be read.
func TestRoomsAreSmall(t *testing.T) {
	for _, p := range listPackages(t) {
		lines := 0
		for _, name := range slices.Concat(p.GoFiles, p.otherSystems()) {
			source, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			lines += bytes.Count(source, []byte("\n"))
		}
		switch reason := largeRooms[p.room()]; {
		case lines > mostLines && reason == "":
			t.Errorf("%s has %d lines, more than %d: cut it into rooms with one purpose each", p.room(), lines, mostLines)
		case lines <= mostLines && reason != "":
			t.Errorf("%s has %d lines: take it off the list", p.room(), lines)
		}
	}
}
