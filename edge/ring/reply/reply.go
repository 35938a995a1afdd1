package reply

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

const (
	// MaxLine bounds a line of an answer, its end included; the longest that is understood has
	// 62.
	MaxLine = 128
	// totalDigits is the length of the largest counter, 2^64-1.
	totalDigits = 20
)

// Complaints are lines that fail one operation, in either protocol, and leave the connection good.
// Any other unexpected line ends the connection.
const (
	// NonNumeric is memcached's complaint about a counter that is not a number: anybody may have
	// written one.
	NonNumeric = "CLIENT_ERROR cannot increment or decrement non-numeric value"
	// ServerError begins memcached's complaint when it is out of memory, and twemproxy's when a
	// server behind it is away.
	ServerError = "SERVER_ERROR "
)

// The errors of answers.
var (
	ErrOdd     = errors.New("ring: not an answer")
	ErrValue   = errors.New("ring: the counter is not a number")
	ErrServer  = errors.New("ring: the server failed")
	ErrMissing = errors.New("ring: no such counter") // there is none
)

// Complaint returns the error of an operation for a line that is a complaint, or nil.
func Complaint(line []byte) error {
	switch {
	case string(line) == NonNumeric:
		return ErrValue
	case bytes.HasPrefix(line, []byte(ServerError)):
		return fmt.Errorf("%w: %q", ErrServer, line[len(ServerError):])
	default:
		return nil
	}
}

// ValueIn returns the value that text begins with, if it is the answer VA to the command with that
// number and in text as a whole, and the answer's size; else size 0. It accepts nothing that
// readReply would not.
//
//	VA <digits> O<number>\r\n<value>\r\n
func ValueIn(text []byte, number uint32) (total uint64, size int) {
	if len(text) < len("VA 1 O") || string(text[:3]) != "VA " {
		return 0, 0
	}
	at := 3
	digits, at := decimal(text, at)
	if digits == 0 || digits > totalDigits-1 || at+2 > len(text) || text[at] != ' ' || text[at+1] != 'O' {
		return 0, 0
	}
	from := at + 2
	answers, at := decimal(text, from)
	if at == from || answers != uint64(number) || at+2 > len(text) || text[at] != '\r' || text[at+1] != '\n' {
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
// index behind it: at itself, and 0, if that is not what stands there or it has ten digits and more.
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

// Read reads the answer to the command with that number. It returns the counter's value,
// errMissing, or a complaint. Any other error ends the connection: errOdd or the connection's
// own. It reads up to two lines of lineBytes.
func Read(in *bufio.Reader, number uint32) (total uint64, err error) {
	line, err := ReadLine(in)
	if err != nil {
		return 0, err
	}
	if err := Complaint(line); err != nil {
		return 0, err
	}
	var suffix [len(" O4294967295")]byte
	rest, numbered := bytes.CutSuffix(line, strconv.AppendUint(append(suffix[:0], " O"...), uint64(number), 10))
	length, isValue := bytes.CutPrefix(rest, []byte("VA "))
	switch {
	case numbered && string(rest) == "NF":
		return 0, ErrMissing
	case numbered && isValue:
		return readTotal(in, string(length))
	default:
		return 0, Odd(line)
	}
}

// readTotal reads a value of that announced length.
func readTotal(in *bufio.Reader, length string) (uint64, error) {
	line, err := ReadLine(in)
	if err != nil {
		return 0, err
	}
	if len(line) == 0 || len(line) > totalDigits || length != strconv.Itoa(len(line)) {
		return 0, Odd(line)
	}
	total, err := strconv.ParseUint(string(line), 10, 64)
	if err != nil {
		return 0, Odd(line)
	}
	return total, nil
}

// Odd returns the error for a line that is not an answer.
func Odd(line []byte) error { return fmt.Errorf("%w: %q", ErrOdd, line[:min(len(line), MaxLine)]) }

// ReadLine reads one line of at most lineBytes and returns it without its end; it is valid until
// the next read.
func ReadLine(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull) || len(line) > MaxLine:
		return nil, Odd(line)
	case err != nil:
		return nil, err
	}
	line, ended := bytes.CutSuffix(line, []byte("\r\n"))
	if !ended {
		return nil, Odd(line)
	}
	return line, nil
}
