package sets

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
)

// Sum tells the content of files apart.
type Sum [sha256.Size]byte

// maxLine is the longest line of a file, bytes: a comment may be longer than a value.
const maxLine = 64 << 10

// ReadLines calls each for every line of r, with its number from 1, until each returns false. It
// returns the digest of the bytes, and the number of lines. A file above limit bytes, or with a
// line above 64 KiB, is an error. Line by line, since the whole of a file would take more memory
// than the set made of it.
func ReadLines(
	r io.Reader, limit int64, each func(line []byte, number int) bool,
) (sum Sum, lines int, err error) {
	// A byte more than allowed, to tell a file of exactly the most from a larger file.
	read := &io.LimitedReader{R: r, N: limit + 1}
	hash := sha256.New()
	scanner := bufio.NewScanner(io.TeeReader(read, hash))
	scanner.Buffer(make([]byte, 0, maxLine+2), maxLine+2) // with its end
	for scanner.Scan() {
		lines++
		if !each(scanner.Bytes(), lines) {
			break
		}
	}
	switch err = scanner.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return sum, lines, fmt.Errorf("line %d is longer than %d bytes", lines+1, maxLine)
	case err != nil:
		return sum, lines, err //nolint:wrapcheck // the caller names the file
	case read.N <= 0:
		return sum, lines, fmt.Errorf("larger than %d bytes", limit)
	}
	hash.Sum(sum[:0])
	return sum, lines, nil
}
