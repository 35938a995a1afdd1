// Package setup holds the commands that prepare a daemon: init prints the configuration of proxies,
// config check that of headgate, import makes it of that of another program.
package setup
