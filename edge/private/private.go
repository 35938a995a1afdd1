// Package private reads small files that hold secrets or must be trusted: keys, tokens, a node's
// own state.
//
// It never waits for anybody: a pipe, a device or a socket in the place of a file is refused and
// not read. Like ssh, it checks who else has access to a file: a file writable for everybody is
// refused, and doubtful access is a warning.
package private

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

var (
	// ErrNotRegular is the error of a path that is neither a regular file nor a link to a file.
	ErrNotRegular = errors.New("not a regular file")
	// ErrSize is the error of a file above the size limit.
	ErrSize = errors.New("too large")
)

// Read returns the content of the regular file at path, or that path is a link to: up to most
// bytes. warnings are for people, a sentence each.
func Read(path string, most int64) (content []byte, warnings []string, err error) {
	f, info, err := open(path)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if warnings, err = look(path, info); err != nil {
		return nil, nil, err
	}
	content, err = io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(content)) > most {
		return nil, nil, fmt.Errorf("%s: %w: more than %d bytes", path, ErrSize, most)
	}
	return content, warnings, err
}

// open opens the regular file at path for reading. It checks the file before, because opening a
// device may already have an effect, and after, because the file may have been replaced. O_NONBLOCK
// is there because opening a pipe would wait for a writer.
func open(path string) (*os.File, fs.FileInfo, error) {
	if is, err := os.Stat(path); err == nil && !is.Mode().IsRegular() {
		return nil, nil, notRegular(path)
	}
	//nolint:gosec // the operator names it
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	is, err := f.Stat()
	if err == nil && !is.Mode().IsRegular() {
		err = notRegular(path)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, is, nil
}

func notRegular(path string) error {
	return &fs.PathError{Op: "read", Path: path, Err: ErrNotRegular}
}
