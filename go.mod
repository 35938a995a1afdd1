module github.com/headgate-dev/headgate

go 1.26
