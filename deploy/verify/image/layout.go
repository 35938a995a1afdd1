package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// The media types of OCI's image specification 1.1.
const (
	indexType    = "application/vnd.oci.image.index.v1+json"
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// descriptor names a blob.
// By its digest, so that whoever has a descriptor can check the blob.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

// manifest joins an image's config and layers.
type manifest struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Config        descriptor   `json:"config"`
	Layers        []descriptor `json:"layers"`
}

// index lists an image's architectures.
type index struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Manifests     []descriptor `json:"manifests"`
}

// archive is an image as `docker save` described it before version 25.
type archive struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// layout is an OCI image layout that is being filled.
// Everything is in memory: two programs of some 15 MiB.
type layout struct {
	version string
	// of the source, for labels; empty: not known
	revision string
	created  time.Time
	files    map[string][]byte // by their path in the layout
	images   []descriptor      // of manifests, one an architecture
	archive  []archive
}

func newLayout(version, revision string, created time.Time) *layout {
	return &layout{version: version, revision: revision, created: created, files: map[string][]byte{
		"oci-layout": []byte(`{"imageLayoutVersion":"1.0.0"}`),
	}}
}

// add puts in the image for one architecture.
func (l *layout) add(arch, program, notice string) error {
	layer, diffID, err := rootLayer(program, notice, l.created)
	if err != nil {
		return fmt.Errorf("%s: %w", arch, err)
	}
	top := l.blob(layerType, layer)
	config, err := l.json(configType, l.imageConfig(arch, diffID))
	if err != nil {
		return err
	}
	image, err := l.json(manifestType, manifest{2, manifestType, config, []descriptor{top}})
	if err != nil {
		return err
	}
	image.Platform = &platform{arch, "linux"}
	l.images = append(l.images, image)
	l.archive = append(l.archive,
		archive{
			blobPath(config.Digest),
			[]string{"headgate:" + tag(l.version)},
			[]string{blobPath(top.Digest)},
		})
	return nil
}

// tar returns the layout as one file.
// index.json names one thing: the image itself, or an index of those for several architectures, of
// which a runtime picks its own.
func (l *layout) tar() ([]byte, error) {
	names := map[string]string{
		"org.opencontainers.image.ref.name": tag(l.version),
		"io.containerd.image.name":          "docker.io/library/headgate:" + tag(l.version),
	}
	image := l.images[0]
	if len(l.images) > 1 {
		var err error
		if image, err = l.json(indexType, index{2, indexType, l.images}); err != nil {
			return nil, err
		}
	}
	image.Annotations = names
	var err error
	if l.files["index.json"], err = json.Marshal(index{2, indexType, []descriptor{image}}); err != nil {
		return nil, err
	}
	if l.files["manifest.json"], err = json.Marshal(l.archive[:1]); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	// Sorted, since a map gives them in any order.
	for _, name := range slices.Sorted(maps.Keys(l.files)) {
		if err := writeEntry(w, &tar.Header{Name: name, Mode: 0o644, ModTime: l.created}, l.files[name]); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// json stores v as a blob.
func (l *layout) json(mediaType string, v any) (descriptor, error) {
	data, err := json.Marshal(v)
	return l.blob(mediaType, data), err
}

// blob stores data under its digest.
func (l *layout) blob(mediaType string, data []byte) descriptor {
	d := descriptor{MediaType: mediaType, Digest: digest(data), Size: len(data)}
	l.files[blobPath(d.Digest)] = data
	return d
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func blobPath(digest string) string { return "blobs/" + strings.Replace(digest, ":", "/", 1) }

// tag returns the version as an image's tag may be: letters, digits, _ . and -.
// 1.2.3~rc1 is a version of Debian's, and no tag.
func tag(version string) string { return strings.NewReplacer("~", "-", "+", "-").Replace(version) }
