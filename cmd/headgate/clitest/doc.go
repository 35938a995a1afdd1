// Package clitest is shared by the tests of the commands: golden files, programs of the machine,
// and a time.
package clitest
