// Package cli is shared by the commands of headgate: the root command, the streams and environment
// of a run, the client of the admin listener, and how text, tables and screens are written. No
// command stands here but version, which is about itself.
package cli
