package cli

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// formats are those in which a check of files prints its results: text for people, XML of JUnit for
// any CI, github for annotations at the lines.
var formats = []string{"text", "json", "junit", "github"}

// Result is the result of a case, or a fault of it.
type Result struct {
	Suite, Name string // the file checked, and the case in the file; "": the file as a whole
	File        string // of the fault
	Line, Col   int    // of the fault, from 1; 0: not known
	Message     string // "": there is no fault
}

// AddFormat gives cmd the option --format.
func AddFormat(cmd *cobra.Command, format *string) {
	cmd.Flags().StringVar(format, "format", "text", "print "+OneOf(formats))
}

// CheckFormat refuses an unknown format.
func CheckFormat(format string) error {
	if !slices.Contains(formats, format) {
		return fmt.Errorf("--format is %s, not %s", OneOf(formats), Quote(format))
	}
	return nil
}

// WriteResults prints the results of the command called check, those of a suite, and of a case in
// it, in a row.
func WriteResults(w io.Writer, format, check string, all []Result) error {
	if format != "github" {
		return writeJUnit(w, check, all)
	}
	value := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	text := ""
	for _, r := range all {
		if r.Message != "" {
			text += fmt.Sprintf("::error file=%s,line=%d,col=%d::%s\n", property.Replace(r.File),
				max(r.Line, 1), max(r.Col, 1), value.Replace(strings.TrimSpace(r.Message)))
		}
	}
	_, err := io.WriteString(w, text)
	return err
}

type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Failure *junitFailure `xml:"failure"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
	}
)

func writeJUnit(w io.Writer, check string, all []Result) error {
	var out junitSuites
	for i, r := range all {
		suite := i > 0 && all[i-1].Suite == r.Suite
		if !suite {
			out.Suites = append(out.Suites, junitSuite{Name: r.Suite})
		}
		s := &out.Suites[len(out.Suites)-1]
		if !suite || r.Name != "" {
			s.Cases = append(s.Cases, junitCase{Name: cmp.Or(r.Name, r.Suite), Class: check})
			s.Tests, out.Tests = s.Tests+1, out.Tests+1
		}
		if r.Message == "" {
			continue
		}
		c, text := &s.Cases[len(s.Cases)-1], strings.TrimSpace(r.Message)
		if r.Line > 0 {
			text = fmt.Sprintf("%s:%d: %s", r.File, r.Line, text)
		}
		if c.Failure == nil {
			c.Failure = &junitFailure{text}
			s.Failures, out.Failures = s.Failures+1, out.Failures+1
		} else {
			c.Failure.Message += "\n" + text
		}
	}
	text, err := xml.MarshalIndent(&out, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	return err
}
