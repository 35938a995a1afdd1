// Command image writes the container image of headgate, as one file that Docker, Podman, containerd
// and skopeo read. Nothing is run to make it, so it needs no daemon and no root, and the same
// program makes the same bytes.
//
//	go -C deploy/verify run ./image -version 1.2.3 -notice NOTICE -out headgate.tar amd64=PROGRAM [arm64=PROGRAM]
//
//	program, NOTICE ─► layer (tar, gzip) ─┐
//	user, ports, entry point ─► config ───┴─► manifest ─► index.json ─► OCI layout, in a tar
//
// The file is an OCI image layout (index.json) and, for Docker before version 25, also an archive
// as `docker save` wrote it (manifest.json, which names the first architecture only).
// deploy/Dockerfile makes an equal image where Docker is at hand.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:], os.Getenv("SOURCE_DATE_EPOCH")); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// run writes the image that args describe; epoch is its time, in seconds since 1970, and "" means
// 0. The time is an argument as everything else is: without one an image is of 1970, and the same
// wherever it is made.
func run(args []string, epoch string) error {
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	version := flags.String("version", "dev", "the version, from which the tag is made")
	revision := flags.String("revision", "", "the commit, for the labels")
	notice := flags.String("notice", "", "the file with the licences")
	out := flags.String("out", "headgate.tar", "the file to write")
	if err := flags.Parse(args); err != nil {
		return err
	}
	seconds, err := strconv.ParseInt("0"+epoch, 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	if *notice == "" || flags.NArg() == 0 {
		return errors.New("want -notice FILE, and ARCH=PROGRAM for each architecture")
	}
	l := newLayout(*version, *revision, time.Unix(seconds, 0).UTC())
	for _, arg := range flags.Args() {
		arch, program, _ := strings.Cut(arg, "=")
		if err := l.add(arch, program, *notice); err != nil {
			return err
		}
	}
	data, err := l.tar()
	if err != nil {
		return err
	}
	return os.WriteFile(*out, data, 0o644) //nolint:gosec // an image is for everybody to read
}
