package verify

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
)

// builtImage makes the image of a program, and returns its path.
func builtImage(t *testing.T, dir, program string) string {
	t.Helper()
	if _, err := command(t, "env", "VERSION=1.2.3~rc1+4.gabc", "SOURCE_DATE_EPOCH=1772323200",
		"ARCH=amd64", "FORMATS=image", "BINARY="+program,
		top+"/deploy/package/build", dir); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "headgate-1.2.3~rc1+4.gabc-image.tar")
}

// layoutOf unpacks an image's file and returns the images that its OCI layout lists.
func layoutOf(t *testing.T, file string) v1.ImageIndex {
	t.Helper()
	dir := t.TempDir()
	run(t, "tar", "--extract", "--file", file, "--directory", dir)
	list, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(list); err != nil {
		t.Error(err)
	}
	return list
}

// The image is what OCI and Docker read: digests, sizes and layers are right in both forms, and
// both forms are one image.
func TestImageIsValid(t *testing.T) {
	file := builtImage(t, t.TempDir(), short(t))
	manifest, err := layoutOf(t, file).IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("%+v, %v", manifest, err)
	}
	if name := manifest.Manifests[0].Annotations["io.containerd.image.name"]; name != "docker.io/library/headgate:1.2.3-rc1-4.gabc" {
		t.Errorf("name %s", name)
	}
	saved, err := tarball.ImageFromPath(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(saved); err != nil {
		t.Error(err)
	}
	config, err := saved.ConfigName()
	listed, err2 := imageOf(t, file).ConfigName()
	if err := errors.Join(err, err2); err != nil || config != listed {
		t.Errorf("%s and %s, %v", config, listed, err)
	}
}

// imageOf returns the only image of a file.
func imageOf(t *testing.T, file string) v1.Image {
	t.Helper()
	list := layoutOf(t, file)
	manifest, err := list.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	image, err := list.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// The image has the configuration that deploy/Dockerfile gives to its own.
func TestImageIsTheDockerfiles(t *testing.T) {
	stages, err := dockerfile(read(t, top+"/deploy/Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	stage := stages[1]
	want := v1.Config{
		User:         of[*instructions.UserCommand](stage)[0].User,
		Entrypoint:   of[*instructions.EntrypointCommand](stage)[0].CmdLine,
		Cmd:          of[*instructions.CmdCommand](stage)[0].CmdLine,
		ExposedPorts: map[string]struct{}{}, Volumes: map[string]struct{}{},
		WorkingDir: "/",
	}
	for _, port := range of[*instructions.ExposeCommand](stage)[0].Ports {
		want.ExposedPorts[port] = struct{}{}
	}
	for _, path := range of[*instructions.VolumeCommand](stage)[0].Volumes {
		want.Volumes[path] = struct{}{}
	}
	health := of[*instructions.HealthCheckCommand](stage)[0].Health
	want.Healthcheck = &v1.HealthConfig{
		Test: health.Test, Interval: health.Interval,
		Timeout: health.Timeout, StartPeriod: health.StartPeriod, Retries: health.Retries,
	}
	file, err := imageOf(t, builtImage(t, t.TempDir(), short(t))).ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	got := file.Config
	labels := map[string]string{}
	for _, command := range of[*instructions.LabelCommand](stage) {
		for _, label := range command.Labels {
			labels[label.Key] = label.Value
		}
	}
	made := map[string]string{
		"$VERSION": "1.2.3~rc1+4.gabc", "$CREATED": "2026-03-01T00:00:00Z",
		"$REVISION": strings.TrimSpace(run(t, "git", "rev-parse", "HEAD")),
	}
	for name, value := range labels {
		if value = strings.Trim(value, `"`); made[value] != "" {
			value = made[value]
		}
		if got.Labels[name] != value {
			t.Errorf("%s: %q, and %q of the Dockerfile", name, got.Labels[name], value)
		}
	}
	if len(got.Labels) != 9 || len(labels) != 9 {
		t.Errorf("labels %v\n%v", got.Labels, labels)
	}
	got.Labels = nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

// The same source makes the same bytes.
func TestImageIsReproducible(t *testing.T) {
	program := short(t)
	one, other := builtImage(t, t.TempDir(), program), builtImage(t, t.TempDir(), program)
	if sum(t, one) != sum(t, other) {
		t.Error("it is another one the second time")
	}
}

// An image of two architectures lists both.
func TestImageOfTwoArchitectures(t *testing.T) {
	file := filepath.Join(t.TempDir(), "image.tar")
	program := short(t)
	run(t, "go", "run", "./image", "-notice", filepath.Join(top, "LICENSE"), "-out", file,
		"amd64="+program, "arm64="+program)
	list := layoutOf(t, file)
	top, err := list.IndexManifest()
	if err != nil || len(top.Manifests) != 1 {
		t.Fatalf("%+v, %v", top, err)
	}
	both, err := list.ImageIndex(top.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := both.IndexManifest()
	if err != nil || len(manifest.Manifests) != 2 ||
		manifest.Manifests[1].Platform.String() != "linux/arm64" {
		t.Errorf("%+v, %v", manifest, err)
	}
}

// What is in the image runs in it: as its user, with nothing else there, it decides and reports to
// be ready.
func TestImageRuns(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can enter the image")
	}
	root := t.TempDir()
	unpack(t, imageOf(t, builtImage(t, t.TempDir(), daemon(t))), root)
	if err := os.Chmod(root, 0o755); err != nil { //nolint:gosec // the user of the image is another one
		t.Fatal(err)
	}
	write(t, filepath.Join(root, "etc/headgate.yaml"),
		`{listen: {udp: "127.0.0.1:0", http: [], admin: "unix:/var/lib/headgate/admin"}, state_dir: /var/lib/headgate, memory: 1MiB}`)
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	serve := inImage(t, root, "serve", "-c", "/etc/headgate.yaml")
	serve.Stdout, serve.Stderr = log, log
	if err := errors.Join(serve.Start(), log.Close()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = serve.Process.Signal(syscall.SIGTERM)
		if err := serve.Wait(); err != nil {
			t.Errorf("%v: %s", err, read(t, log.Name()))
		}
		if _, err := os.Stat(filepath.Join(root, "var/lib/headgate/headgate.state")); err != nil {
			t.Error(err)
		}
	}()
	await(t, "the daemon is ready", func() bool {
		health := inImage(t, root, "health")
		health.Env = []string{"HEADGATE_ADMIN=unix:/var/lib/headgate/admin"}
		said, err := health.CombinedOutput()
		return err == nil && string(said) == "ready\n"
	})
}

// inImage returns a command as a container of the image would run it: its files only, its user, no
// environment.
func inImage(t *testing.T, root string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/headgate", args...)
	cmd.Dir, cmd.Env = "/", []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Chroot:     root,
		Credential: &syscall.Credential{Uid: 65532, Gid: 65532},
	}
	return cmd
}

// unpack writes the files of an image below root.
func unpack(t *testing.T, image v1.Image, root string) {
	t.Helper()
	content := mutate.Extract(image)
	defer content.Close() //nolint:errcheck // only read from
	for in := tar.NewReader(content); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := entry(filepath.Join(root, h.Name), h,
			in); err != nil { //nolint:gosec // this repository's own image
			t.Fatal(err)
		}
	}
}

// entry writes one file or directory.
func entry(path string, h *tar.Header, content io.Reader) error {
	mode := os.FileMode(h.Mode).Perm()
	switch h.Typeflag {
	case tar.TypeDir:
		if err := os.MkdirAll(path, mode); err != nil {
			return err
		}
	case tar.TypeReg:
		data, err := io.ReadAll(content)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, data, mode); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%s is of type %c", h.Name, h.Typeflag)
	}
	return os.Chown(path, h.Uid, h.Gid)
}
