// SPDX-License-Identifier: Apache-2.0

// Pprofcheck reads pprof files as google/pprof itself does, checks what pystrobe
// promises beyond that, and prints what is in them: a JSON object a file, a line each.
//
// It exits with 1 and the reason at the first file that is not as it should be.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sort"
	"strings"

	"github.com/google/pprof/profile"
)

type valueType struct {
	Type string `json:"type"`
	Unit string `json:"unit"`
}

type frame struct {
	Func      string `json:"func"`
	File      string `json:"file"`
	Line      int64  `json:"line"`
	Column    int64  `json:"column"`
	StartLine int64  `json:"start_line"`
}

type sample struct {
	Stack  []frame                `json:"stack"` // leaf first
	Values []int64                `json:"values"`
	Labels map[string]interface{} `json:"labels"`
}

// label -> value as text -> totals, one a sample type
type labelTotals map[string]map[string][]int64

type report struct {
	Path        string           `json:"path"`
	SampleTypes []valueType      `json:"sample_types"`
	DefaultType string           `json:"default_type"`
	Totals      map[string]int64 `json:"totals"` // by the type's name
	LabelTotals labelTotals      `json:"label_totals"`
	Samples     []sample         `json:"samples"`
	Functions   int              `json:"functions"`
	Locations   int              `json:"locations"`
	TimeNs      int64            `json:"time_ns"`
	DurationNs  int64            `json:"duration_ns"`
	PeriodType  *valueType       `json:"period_type"`
	Period      int64            `json:"period"`
	Comments    []string         `json:"comments"`
	Binary      string           `json:"binary"`
	BuildID     string           `json:"build_id"`
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: pprofcheck FILE...")
		os.Exit(64)
	}
	for _, path := range os.Args[1:] {
		if err := check(path); err != nil {
			fmt.Fprintf(os.Stderr, "pprofcheck: %s: %v\n", path, err)
			os.Exit(1)
		}
	}
}

func check(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	p, err := profile.Parse(file)
	if err != nil {
		return err
	}
	if err := p.CheckValid(); err != nil {
		return err
	}
	if err := checkMapping(p); err != nil {
		return err
	}
	if err := checkTables(p); err != nil {
		return err
	}
	if err := checkSamples(p); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(describe(path, p))
}

// checkMapping: the binary alone, which has all locations, and of which nothing is to be looked up.
func checkMapping(p *profile.Profile) error {
	if len(p.Mapping) != 1 {
		return fmt.Errorf("%d mappings", len(p.Mapping))
	}
	m := p.Mapping[0]
	if m.ID != 1 || !m.HasFunctions || !m.HasFilenames || !m.HasLineNumbers || m.HasInlineFrames {
		return fmt.Errorf("the mapping is %v", *m)
	}
	for _, l := range p.Location {
		if l.Mapping != m {
			return fmt.Errorf("location %d is not in the mapping", l.ID)
		}
	}
	return nil
}

// checkTables: ids count from 1 in table order (Parca wants it), every entry is there
// once and used, and no function has a system name (or pprof takes it for a C++ name).
func checkTables(p *profile.Profile) error {
	functions := map[string]bool{}
	used := map[uint64]bool{}
	for i, f := range p.Function {
		if f.ID != uint64(i)+1 {
			return fmt.Errorf("function %d in the table has id %d", i+1, f.ID)
		}
		if f.SystemName != "" {
			return fmt.Errorf("function %d has the system name %q", f.ID, f.SystemName)
		}
		key := fmt.Sprintf("%q %q %d", f.Name, f.Filename, f.StartLine)
		if functions[key] {
			return fmt.Errorf("function %s is there twice", key)
		}
		functions[key] = true
	}
	locations := map[string]bool{}
	for i, l := range p.Location {
		if l.ID != uint64(i)+1 {
			return fmt.Errorf("location %d in the table has id %d", i+1, l.ID)
		}
		if len(l.Line) != 1 {
			return fmt.Errorf("location %d has %d lines", l.ID, len(l.Line))
		}
		line := l.Line[0]
		key := fmt.Sprint(line.Function.ID, line.Line, line.Column)
		if locations[key] {
			return fmt.Errorf("location %d is there twice", l.ID)
		}
		locations[key] = true
		used[line.Function.ID] = true
	}
	if len(used) != len(p.Function) {
		return fmt.Errorf("%d functions, %d of them used", len(p.Function), len(used))
	}
	return nil
}

// checkSamples: no stack with the same labels twice, no sample of nothing, no repeated key.
func checkSamples(p *profile.Profile) error {
	seen := map[string]int{}
	used := map[uint64]bool{}
	for i, s := range p.Sample {
		key := sampleKey(s)
		if j, is := seen[key]; is {
			return fmt.Errorf("samples %d and %d have the same stack and labels", j, i)
		}
		seen[key] = i
		if allZero(s.Value) {
			return fmt.Errorf("all values of sample %d are 0", i)
		}
		if err := checkLabels(s); err != nil {
			return fmt.Errorf("sample %d: %w", i, err)
		}
		for _, l := range s.Location {
			used[l.ID] = true
		}
	}
	if len(used) != len(p.Location) {
		return fmt.Errorf("%d locations, %d of them used", len(p.Location), len(used))
	}
	return nil
}

func checkLabels(s *profile.Sample) error {
	for key, values := range s.Label {
		if len(values) != 1 {
			return fmt.Errorf("label %q has %d values", key, len(values))
		}
		if _, is := s.NumLabel[key]; is {
			return fmt.Errorf("label %q is a text and a number", key)
		}
	}
	for key, values := range s.NumLabel {
		if len(values) != 1 {
			return fmt.Errorf("label %q has %d values", key, len(values))
		}
		if key == "" {
			return errors.New("a label has no key")
		}
	}
	return nil
}

func sampleKey(s *profile.Sample) string {
	var b strings.Builder
	for _, l := range s.Location {
		fmt.Fprint(&b, l.ID, " ")
	}
	labels := []string{}
	for key, values := range s.Label {
		labels = append(labels, fmt.Sprintf("%q=%q", key, values))
	}
	for key, values := range s.NumLabel {
		labels = append(labels, fmt.Sprintf("%q=%d %q", key, values, s.NumUnit[key]))
	}
	sort.Strings(labels)
	return b.String() + strings.Join(labels, " ")
}

func allZero(values []int64) bool {
	for _, v := range values {
		if v != 0 {
			return false
		}
	}
	return true
}

func describe(path string, p *profile.Profile) report {
	r := report{
		Path: path, DefaultType: p.DefaultSampleType, Functions: len(p.Function), Locations: len(p.Location),
		TimeNs: p.TimeNanos, DurationNs: p.DurationNanos, Period: p.Period,
		Totals: map[string]int64{}, LabelTotals: labelTotals{},
		Binary: p.Mapping[0].File, BuildID: p.Mapping[0].BuildID,
		Samples: []sample{}, Comments: append([]string{}, p.Comments...),
	}
	for _, t := range p.SampleType {
		r.SampleTypes = append(r.SampleTypes, valueType{t.Type, t.Unit})
	}
	if p.PeriodType != nil {
		r.PeriodType = &valueType{p.PeriodType.Type, p.PeriodType.Unit}
	}
	for _, s := range p.Sample {
		one := describeSample(s)
		r.Samples = append(r.Samples, one)
		for i, v := range s.Value {
			r.Totals[p.SampleType[i].Type] += v
		}
		for key, value := range one.Labels {
			r.LabelTotals.add(key, fmt.Sprint(value), s.Value)
		}
	}
	return r
}

func describeSample(s *profile.Sample) sample {
	one := sample{Stack: []frame{}, Values: s.Value, Labels: map[string]interface{}{}}
	for _, l := range s.Location {
		for _, line := range l.Line {
			f := line.Function
			one.Stack = append(one.Stack, frame{f.Name, f.Filename, line.Line, line.Column, f.StartLine})
		}
	}
	for key, values := range s.Label {
		one.Labels[key] = values[0]
	}
	for key, values := range s.NumLabel {
		one.Labels[key] = values[0]
	}
	return one
}

func (t labelTotals) add(key, value string, values []int64) {
	if t[key] == nil {
		t[key] = map[string][]int64{}
	}
	if t[key][value] == nil {
		t[key][value] = make([]int64, len(values))
	}
	for i, v := range values {
		t[key][value][i] += v
	}
}
