package accesslog

import (
	"bytes"
	"errors"
	"strconv"
)

// tsvFields is how many fields a TSV line has; a sixth and more are ignored.
const tsvFields = 5

var (
	errTSVFields = errors.New("fewer than 5 tab-separated fields")
	errNoClient  = errors.New("no client")
)

// parseTSV reads `unix_seconds  client  method  path  status`.
func parseTSV(line []byte, rec *Record) error {
	var fields [tsvFields][]byte
	rest, more := line, true
	for i := range fields {
		if !more {
			return errTSVFields
		}
		fields[i], rest, more = bytes.Cut(rest, []byte("\t"))
	}
	if err := setUnixSeconds(fields[0], rec); err != nil {
		return err
	}
	if len(fields[1]) == 0 {
		return errNoClient
	}
	rec.Client, rec.Method = fields[1], fields[2]
	rec.Path, rec.Status = withoutQuery(fields[3]), parseStatus(fields[4])
	return nil
}

func appendInt(dst []byte, n int64) []byte { return strconv.AppendInt(dst, n, 10) }
