// Package man is `headgate man`: the manual, written from the help of the commands.
package man
