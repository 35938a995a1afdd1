package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// Build is the output of `headgate version`.
type Build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // of the source; -dirty: with changes
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

// Version returns `headgate version`.
func Version(a *App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version and the build",
		Args:  Want(),
		RunE: func(*cobra.Command, []string) error {
			b := ThisBuild()
			if asJSON {
				return WriteJSON(a.Stdout, b)
			}
			fmt.Fprintln(a.Stdout, b.line())
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// line returns the build on a line, for version and --version.
func (b Build) line() string {
	return fmt.Sprintf("headgate %s (%s, %s/%s)", b.Version, b.Go, b.OS, b.Arch)
}

// Release is the version the linker gave the program; empty: none. Set by the program before
// anything else.
var Release = ""

// BuildVersion returns the version set by the linker, else that of the module (`go install
// …@v1.2.3`), else "dev". A tag's v is left out: 1.2.3.
func BuildVersion() string {
	if Release != "" {
		return untagged(Release)
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" &&
		info.Main.Version != "(devel)" {
		return untagged(info.Main.Version)
	}
	return "dev"
}

// untagged returns the version of a tag, and any other text unchanged.
func untagged(version string) string {
	if rest, ok := strings.CutPrefix(version, "v"); ok && rest != "" &&
		rest[0] >= '0' && rest[0] <= '9' {
		return rest
	}
	return version
}

// ThisBuild returns the facts about this build: version, revision and platform.
func ThisBuild() Build {
	b := Build{
		Version: BuildVersion(), Go: runtime.Version(), OS: runtime.GOOS,
		Arch: runtime.GOARCH,
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	changed := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			b.Revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = "-dirty"
		}
	}
	if b.Revision != "" {
		b.Revision += changed
	}
	return b
}
