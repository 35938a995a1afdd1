package accesslog

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// Bounds of reading.
const (
	MaxLine  = 64 << 10 // bytes of a line with its end; longer ones are faults
	MaxShown = 3        // faults kept to be shown
)

var gzipMagic = []byte{0x1f, 0x8b}

// errTooLong is the fault of a line past MaxLine.
var errTooLong = fmt.Errorf("line is longer than %d bytes", MaxLine)

// Fault is an unreadable line.
type Fault struct {
	File string
	Line int // from 1
	Err  error
}

// Error returns the fault as file:line: reason.
func (f Fault) Error() string { return fmt.Sprintf("%s:%d: %v", f.File, f.Line, f.Err) }

// Faults is the number of unreadable lines, and the first few.
type Faults struct {
	Count int64
	First []Fault // at most MaxShown
}

// Add counts f, and keeps f if among the first.
func (s *Faults) Add(f Fault) {
	s.Count++
	if len(s.First) < MaxShown {
		s.First = append(s.First, f)
	}
}

// Reader reads the records of a log. Not safe for concurrent use.
type Reader struct {
	name   string
	lines  *bufio.Reader
	format Format // Auto until the first line
	line   int
	faults *Faults
	source *meter
}

// NewReader returns a reader over src, unzipped if it begins like gzip. Unreadable lines are added
// to faults, under name. The caller closes src.
func NewReader(src io.Reader, name string, format Format, faults *Faults) (*Reader, error) {
	source := &meter{src: src}
	// bytes asked of the source at once
	raw := bufio.NewReaderSize(source, 64<<10)
	r := &Reader{name: name, format: format, faults: faults, source: source}
	magic, err := raw.Peek(len(gzipMagic))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if !bytes.Equal(magic, gzipMagic) {
		r.lines = bufio.NewReaderSize(raw, MaxLine)
		return r, nil
	}
	unzipped, err := gzip.NewReader(raw)
	if err != nil {
		return nil, fmt.Errorf("unzip %s: %w", name, err)
	}
	r.lines = bufio.NewReaderSize(unzipped, MaxLine)
	return r, nil
}

// Read fills rec with the next record, stepping over blank and bad lines. io.EOF: the end of the
// log; any other error means an unreadable rest.
func (r *Reader) Read(rec *Record) error {
	for {
		line, err := r.next()
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(line)) == 0 || line[0] == '#' { // a comment, as in CloudFront's logs
			continue
		}
		if line, err = peel(bytes.TrimLeft(line, " ")); err == nil && len(line) > 0 {
			err = r.parse(line, rec)
		}
		switch {
		case err != nil:
			r.fault(fmt.Errorf("bad line (%s): %w", r.format, err))
		case len(line) > 0:
			return nil
		}
	}
}

// parse reads a line, the first of which sets the format.
func (r *Reader) parse(line []byte, rec *Record) error {
	if r.format == Auto {
		r.format = detect(line)
	}
	rec.Took, rec.Forwarded, rec.NoPeer = -1, nil, false
	return formats[r.format].parse(line, rec)
}

// Format returns the format of the log, Auto before the first line.
func (r *Reader) Format() Format { return r.format }

// Line returns the number of the line last read, from 1.
func (r *Reader) Line() int { return r.line }

// Consumed returns how many bytes were taken from the source, before unzipping.
func (r *Reader) Consumed() int64 { return r.source.taken }

func (r *Reader) fault(err error) { r.faults.Add(Fault{r.name, r.line, err}) }

// next returns the next line without the end. A line too long is counted and reads as blank.
func (r *Reader) next() ([]byte, error) {
	line, err := r.lines.ReadSlice('\n')
	if err != nil && len(line) == 0 {
		return nil, r.readError(err)
	}
	r.line++
	if errors.Is(err, bufio.ErrBufferFull) {
		r.fault(errTooLong)
		return nil, r.skipLine()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, r.readError(err) // a line cut off by a broken file is not a line
	}
	return bytes.TrimRight(line, "\r\n"), nil
}

// skipLine steps over the rest of a line.
func (r *Reader) skipLine() error {
	for {
		_, err := r.lines.ReadSlice('\n')
		switch {
		case err == nil, errors.Is(err, io.EOF):
			return nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return r.readError(err)
		}
	}
}

func (r *Reader) readError(err error) error {
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	return fmt.Errorf("read %s after line %d: %w", r.name, r.line, err)
}

// meter counts the bytes read.
type meter struct {
	src   io.Reader
	taken int64
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.src.Read(p)
	m.taken += int64(n)
	return n, err
}
