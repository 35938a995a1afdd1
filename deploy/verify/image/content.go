package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"time"
)

// user is the number of the user and of the group in the image: distroless' nonroot.
// A cluster that asks for runAsNonRoot looks at the number, and a volume is prepared for one.
const user = 65532

// config is the part of an image's configuration that headgate sets. Healthcheck is Docker's
// addition to OCI's. The members are in the order of the specification, which encoding/json keeps:
// the same image has the same bytes.
type config struct {
	Created      time.Time `json:"created"`
	Architecture string    `json:"architecture"`
	OS           string    `json:"os"`
	Config       execution `json:"config"`
	RootFS       rootFS    `json:"rootfs"`
	History      []history `json:"history"`
}

type execution struct {
	User         string
	ExposedPorts map[string]struct{}
	Entrypoint   []string
	Cmd          []string
	Volumes      map[string]struct{}
	WorkingDir   string
	Labels       map[string]string
	Healthcheck  healthcheck
}

// healthcheck has its times in nanoseconds.
type healthcheck struct {
	Test                           []string
	Interval, Timeout, StartPeriod time.Duration
	Retries                        int
}

type rootFS struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"`
}

type history struct {
	Created   time.Time `json:"created"`
	CreatedBy string    `json:"created_by"`
}

// imageConfig returns the configuration of the image, which is that of deploy/Dockerfile.
func (l *layout) imageConfig(arch, diffID string) config {
	const repository = "https://github.com/headgate-dev/headgate"
	none := struct{}{}
	return config{
		Created: l.created, Architecture: arch, OS: "linux",
		Config: execution{
			User: fmt.Sprintf("%d:%d", user, user),
			ExposedPorts: map[string]struct{}{
				"4290/udp": none, "4291/tcp": none, "4292/tcp": none,
				"4293/tcp": none, "4293/udp": none,
			},
			Entrypoint: []string{"/headgate"},
			Cmd:        []string{"serve"},
			Volumes:    map[string]struct{}{"/var/lib/headgate": none},
			WorkingDir: "/",
			Labels: map[string]string{
				// Read by registries and by scanners, which look for the version here.
				"org.opencontainers.image.title":         "headgate",
				"org.opencontainers.image.description":   "A rate limiter beside edge proxies",
				"org.opencontainers.image.version":       l.version,
				"org.opencontainers.image.revision":      l.revision,
				"org.opencontainers.image.created":       l.created.Format(time.RFC3339),
				"org.opencontainers.image.source":        repository,
				"org.opencontainers.image.documentation": repository + "/tree/main/docs",
				"org.opencontainers.image.licenses":      "Apache-2.0",
				"org.opencontainers.image.vendor":        "headgate",
			},
			// Docker and Podman ask so; Kubernetes has probes of its own and ignores it.
			Healthcheck: healthcheck{
				[]string{"CMD", "/headgate", "health"},
				10 * time.Second,
				3 * time.Second, 5 * time.Second, 3,
			},
		},
		RootFS:  rootFS{"layers", []string{diffID}},
		History: []history{{l.created, "deploy/verify/image"}},
	}
}

// rootLayer returns the one layer of the image, compressed, and the digest of what was compressed.
// A static program needs no system: neither a shell nor certificates nor a passwd, so that there is
// nothing in the image to be mended but headgate.
func rootLayer(program, notice string, at time.Time) (layer []byte, diffID string, err error) {
	binary, err := os.ReadFile(program) //nolint:gosec // whoever builds the image names it
	if err != nil {
		return nil, "", err
	}
	licences, err := os.ReadFile(notice) //nolint:gosec // whoever builds the image names it
	if err != nil {
		return nil, "", err
	}
	var plain bytes.Buffer
	w := tar.NewWriter(&plain)
	for _, e := range []struct {
		tar.Header
		content []byte
	}{
		{tar.Header{Name: "NOTICE", Mode: 0o644}, licences},
		{tar.Header{Name: "headgate", Mode: 0o755}, binary},
		// Every directory on the way, as some runtimes do not make them.
		{tar.Header{Name: "var/", Typeflag: tar.TypeDir, Mode: 0o755}, nil},
		{tar.Header{Name: "var/lib/", Typeflag: tar.TypeDir, Mode: 0o755}, nil},
		{tar.Header{Name: "var/lib/headgate/", Typeflag: tar.TypeDir, Mode: 0o700, Uid: user, Gid: user}, nil}, // for state_dir
	} {
		// The same time for all, from SOURCE_DATE_EPOCH: an image that is made again is the same.
		e.ModTime = at
		if err := writeEntry(w, &e.Header, e.content); err != nil {
			return nil, "", err
		}
	}
	if err := w.Close(); err != nil {
		return nil, "", err
	}
	packed, err := zipped(plain.Bytes())
	return packed, digest(plain.Bytes()), err
}

// zipped returns data compressed.
func zipped(data []byte) ([]byte, error) {
	var packed bytes.Buffer
	zip, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := zip.Write(data); err != nil {
		return nil, err
	}
	if err := zip.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

// writeEntry adds one file or directory to a tar.
// USTAR has neither user names nor fractions of seconds, in which two machines could differ.
func writeEntry(w *tar.Writer, h *tar.Header, content []byte) error {
	h.Size, h.Format = int64(len(content)), tar.FormatUSTAR
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	_, err := w.Write(content)
	return err
}
