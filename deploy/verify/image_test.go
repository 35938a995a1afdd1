package verify

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// dockerfile returns the stages of an image's file, as BuildKit reads them; nothing here can build
// one.
func dockerfile(text string) ([]instructions.Stage, error) {
	parsed, err := parser.Parse(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	stages, _, err := instructions.Parse(parsed.AST, nil)
	return stages, err
}

// of returns a stage's commands of one type.
func of[T any](stage instructions.Stage) (found []T) {
	for _, command := range stage.Commands {
		if command, ok := command.(T); ok {
			found = append(found, command)
		}
	}
	return found
}

func TestDockerfileRefusesFaults(t *testing.T) {
	for _, text := range []string{
		"FORM scratch", "FROM scratch\nCOPY a",
		"FROM scratch\nHEALTHCHECK --intervall=1s CMD x",
	} {
		if _, err := dockerfile(text); err == nil {
			t.Errorf("a fault is not found: %q", text)
		}
	}
}

// The image holds the program alone, does not run as root, and has a health check.
func TestDockerfile(t *testing.T) {
	text := read(t, top+"/deploy/Dockerfile")
	stages, err := dockerfile(text)
	if err != nil || len(stages) != 2 {
		t.Fatalf("%d stages, %v", len(stages), err)
	}
	build, image := stages[0], stages[1]
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(
		read(t, top+"/go.mod"))[1]
	if build.Name != "build" || build.BaseName != "golang:"+version || image.BaseName != "scratch" {
		t.Errorf("from %s and %s", build.BaseName, image.BaseName)
	}
	for _, from := range of[*instructions.CopyCommand](image) {
		if from.From != "build" || !strings.Contains(text,
			" "+path.Clean(from.SourcePaths[0])+" ") {
			t.Errorf("%v is copied from %q", from.SourcePaths, from.From)
		}
	}
	if user := of[*instructions.UserCommand](image); len(user) != 1 ||
		user[0].User != "65532:65532" {
		t.Errorf("user %+v", user)
	}
	if check := of[*instructions.HealthCheckCommand](image); len(check) != 1 ||
		!slices.Equal(check[0].Health.Test, []string{"CMD", "/headgate", "health"}) {
		t.Errorf("health check %+v", check)
	}
	entry, command := of[*instructions.EntrypointCommand](image),
		of[*instructions.CmdCommand](image)
	if !slices.Equal(entry[0].CmdLine, []string{"/headgate"}) || !slices.Equal(command[0].CmdLine,
		[]string{"serve"}) {
		t.Errorf("%q %q", entry, command)
	}
	run(t, daemon(t), "health", "--help")
}

// The files that the image is built from exist, and Docker's ignore file does not leave them out.
func TestDockerfileSources(t *testing.T) {
	stages, err := dockerfile(read(t, top+"/deploy/Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	sources := []string{"deploy/package/notice"}
	for _, command := range of[*instructions.CopyCommand](stages[0]) {
		sources = append(sources, command.SourcePaths...)
	}
	ignored := strings.Fields(read(t, top+"/deploy/Dockerfile.dockerignore"))
	for _, source := range sources {
		if _, err := os.Stat(filepath.Join(top, source)); err != nil {
			t.Error(err)
		}
		for _, pattern := range ignored {
			if source == pattern || strings.HasPrefix(source, pattern+"/") {
				t.Errorf("%s is ignored", source)
			}
		}
	}
	if len(sources) != 4 {
		t.Errorf("sources %q", sources)
	}
}
