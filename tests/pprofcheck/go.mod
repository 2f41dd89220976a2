module pystrobe/tests/pprofcheck

// As old as Debian 12's golang-go.
go 1.19

require github.com/google/pprof v0.0.0-20240727154555-813a5fbdbec8
