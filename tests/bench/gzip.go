// SPDX-License-Identifier: Apache-2.0

// gzip packs what it reads as Go programs do that do not choose a level, a Collector among them.
package main

import (
	"compress/gzip"
	"io"
	"log"
	"os"
)

func main() {
	out := gzip.NewWriter(os.Stdout)
	if _, err := io.Copy(out, os.Stdin); err != nil {
		log.Fatal(err)
	}
	if err := out.Close(); err != nil {
		log.Fatal(err)
	}
}
