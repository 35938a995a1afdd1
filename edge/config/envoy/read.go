package envoy

import (
	"fmt"
	"path/filepath"
)

// Read reads the files that paths mean, up to most of them, each once, in the order of paths and
// names. A path may have * ? and []; a pattern without a file is an error. Names come sorted, so
// the same directory makes the same tree on all nodes.
func Read(
	paths []string, most int, read func(path string) ([]byte, error),
) (files []File, err error) {
	known := map[string]bool{}
	for _, path := range paths {
		names, err := filepath.Glob(path)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", path, err)
		case len(names) == 0:
			return nil, fmt.Errorf("%s: there is no such file", path)
		}
		for _, name := range names {
			if known[name] {
				continue
			}
			known[name] = true
			if len(known) > most {
				return nil, fmt.Errorf("more than %d files", most)
			}
			data, err := read(name)
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", name, err)
			}
			files = append(files, File{Name: name, Data: data})
		}
	}
	return files, nil
}
