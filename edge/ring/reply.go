package ring

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// memcached's answers: the meta protocol's values, and the complaints both protocols share.
//
//	VA 1 O7 / 5     the value 5, for the command with number 7       NF O7     no such counter
//	CLIENT_ERROR …  the counter is not a number                      SERVER_ERROR …
//
// Exactly what memcached sends is taken, lines of at most maxLine bytes, and nothing that comes
// close: a server lying must not make a count.

const (
	// maxLine bounds a line of an answer, its end included; the longest that is understood has
	// 62.
	maxLine = 128
	// totalDigits is the length of the largest counter, 2^64-1.
	totalDigits = 20
)

// Complaints are lines failing an operation, in either protocol, and leave the connection good. Any
// other unexpected line ends the connection.
const (
	// nonNumeric is memcached's complaint about a counter that is not a number: anybody may have
	// written the counter.
	nonNumeric = "CLIENT_ERROR cannot increment or decrement non-numeric value"
	// serverError begins memcached's complaint when it is out of memory, and twemproxy's when a
	// server behind it is away.
	serverError = "SERVER_ERROR "
)

// errMissing is an answer too.
var errMissing = errors.New("ring: no such counter")

// complaintOf returns the error of an operation for a line that is a complaint, or nil.
func complaintOf(line []byte) error {
	switch {
	case string(line) == nonNumeric:
		return ErrValue
	case bytes.HasPrefix(line, []byte(serverError)):
		return fmt.Errorf("%w: %q", ErrServer, line[len(serverError):])
	default:
		return nil
	}
}

// valueIn returns the value that text begins with, if it is the answer VA to the command with that
// number and in text as a whole, and the answer's size; else size 0. It accepts nothing readReply
// would not.
//
//	VA <digits> O<number>\r\n<value>\r\n
func valueIn(text []byte, number uint32) (total uint64, size int) {
	if len(text) < len("VA 1 O") || string(text[:3]) != "VA " {
		return 0, 0
	}
	at := 3
	digits, at := decimal(text, at)
	if digits == 0 || digits > totalDigits-1 || at+2 > len(text) ||
		text[at] != ' ' || text[at+1] != 'O' {
		return 0, 0
	}
	from := at + 2
	answers, at := decimal(text, from)
	if at == from || answers != uint64(number) || at+2 > len(text) || text[at] != '\r' ||
		text[at+1] != '\n' {
		return 0, 0
	}
	first := at + 2
	end := first + int(digits) // below totalDigits
	if end+2 > len(text) || text[end] != '\r' || text[end+1] != '\n' {
		return 0, 0
	}
	for _, c := range text[first:end] {
		if c -= '0'; c > 9 {
			return 0, 0
		}
		total = 10*total + uint64(c) // below 10^19
	}
	return total, end + 2
}

// decimal reads the digits at text[at:] as a number without leading zeros, and returns it and the
// index behind it: at itself, and 0, if that is not what stands there or it has ten digits and
// more.
func decimal(text []byte, at int) (n uint64, end int) {
	end = at
	for end < len(text) && text[end]-'0' <= 9 {
		n = 10*n + uint64(text[end]-'0')
		if end++; end-at > 10 {
			return 0, at
		}
	}
	if end-at > 1 && text[at] == '0' {
		return 0, at
	}
	return n, end
}

// readValue reads the answer to the command with that number. It returns the counter's value,
// errMissing, or a complaint. Any other error ends the connection: errOdd or the connection's
// own. It reads up to two lines of lineBytes.
func readValue(in *bufio.Reader, number uint32) (total uint64, err error) {
	line, err := readLine(in)
	if err != nil {
		return 0, err
	}
	if err := complaintOf(line); err != nil {
		return 0, err
	}
	var suffix [len(" O4294967295")]byte
	rest, numbered := bytes.CutSuffix(line,
		strconv.AppendUint(append(suffix[:0], " O"...), uint64(number), 10))
	length, isValue := bytes.CutPrefix(rest, []byte("VA "))
	switch {
	case numbered && string(rest) == "NF":
		return 0, errMissing
	case numbered && isValue:
		return readTotal(in, string(length))
	default:
		return 0, odd(line)
	}
}

// readTotal reads a value of that announced length.
func readTotal(in *bufio.Reader, length string) (uint64, error) {
	line, err := readLine(in)
	if err != nil {
		return 0, err
	}
	if len(line) == 0 || len(line) > totalDigits || length != strconv.Itoa(len(line)) {
		return 0, odd(line)
	}
	total, err := strconv.ParseUint(string(line), 10, 64)
	if err != nil {
		return 0, odd(line)
	}
	return total, nil
}

// odd returns the error for a line that is not an answer.
func odd(line []byte) error {
	return fmt.Errorf("%w: %q", ErrReply, line[:min(len(line), maxLine)])
}

// readLine reads a line of at most lineBytes and returns it without its end; it is valid until the
// next read.
func readLine(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull) || len(line) > maxLine:
		return nil, odd(line)
	case err != nil:
		return nil, err
	}
	line, ended := bytes.CutSuffix(line, []byte("\r\n"))
	if !ended {
		return nil, odd(line)
	}
	return line, nil
}
