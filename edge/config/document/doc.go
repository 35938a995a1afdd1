// Package document turns the text of a file into the root of the single YAML document, or says at
// which line and column the text stops being YAML.
//
// It takes less than YAML allows: UTF-8 without control characters, no directives, a single
// document, at most 40,000 lines, items and fields. The library's own positions are off by a line
// for some errors and name the end of the file for others; Parse finds the line a person has to
// look at.
package document
