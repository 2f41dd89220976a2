// SPDX-License-Identifier: Apache-2.0

package main

// Makes of an OTLP request what a Pyroscope makes of it. The real server's own code for that is not
// used: no published module has it (only the API is one), and it is AGPL. The rules here are those
// that it follows, written down anew; what it passes over without a word (an index of an attribute
// that is out of range) is an error here.

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	googlev1 "github.com/grafana/pyroscope/api/gen/proto/go/google/v1"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
	collectorv1 "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	profilesv1 "go.opentelemetry.io/proto/otlp/profiles/v1development"
)

const serviceKey = "service.name"

// convert gives a series for each profile and service of a request.
func convert(request *collectorv1.ExportProfilesServiceRequest) ([]*pushv1.RawProfileSeries, error) {
	if request.Dictionary == nil {
		return nil, errors.New("there is no dictionary")
	}
	if len(request.ResourceProfiles) == 0 {
		return nil, errors.New("there are no resource_profiles")
	}
	var all []*pushv1.RawProfileSeries
	for _, resource := range request.ResourceProfiles {
		attributes := resource.GetResource().GetAttributes()
		for _, scope := range resource.ScopeProfiles {
			for _, one := range scope.Profiles {
				series, err := convertProfile(request.Dictionary, one, attributes, scope.GetScope().GetAttributes())
				if err != nil {
					return nil, err
				}
				all = append(all, series...)
			}
		}
	}
	return all, nil
}

// convertProfile gives a series for each service that samples name; those without one are the resource's.
func convertProfile(tables *profilesv1.ProfilesDictionary, from *profilesv1.Profile, resource, scope []*commonv1.KeyValue) ([]*pushv1.RawProfileSeries, error) {
	var services []string
	converters := map[string]*converter{}
	for _, sample := range from.Samples {
		service, labels, err := sampleLabels(tables, sample)
		if err != nil {
			return nil, err
		}
		if service == "" {
			service = serviceOf(resource)
		}
		if converters[service] == nil {
			services = append(services, service)
			if converters[service], err = newConverter(tables, from); err != nil {
				return nil, err
			}
		}
		if err := converters[service].add(sample, labels); err != nil {
			return nil, err
		}
	}
	var all []*pushv1.RawProfileSeries
	for _, service := range services {
		raw, err := pack(converters[service].to)
		if err != nil {
			return nil, err
		}
		all = append(all, &pushv1.RawProfileSeries{
			Labels:  seriesLabels(converters[service].name, service, resource, scope),
			Samples: []*pushv1.RawSample{{RawProfile: raw}},
		})
	}
	return all, nil
}

func pack(message *googlev1.Profile) ([]byte, error) {
	plain, err := message.MarshalVT()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	_, err = zipped.Write(plain)
	if err == nil {
		err = zipped.Close()
	}
	return out.Bytes(), err
}

// text gives a value as the text of a label; "" of what makes none: a reference to the dictionary
// among others, which is what a Collector makes of the texts of resources and scopes.
func text(value *commonv1.AnyValue) string {
	switch value := value.GetValue().(type) {
	case *commonv1.AnyValue_StringValue:
		return value.StringValue
	case *commonv1.AnyValue_IntValue:
		return strconv.FormatInt(value.IntValue, 10)
	case *commonv1.AnyValue_ArrayValue:
		if values := value.ArrayValue.GetValues(); len(values) == 1 && values[0].GetArrayValue() == nil {
			return text(values[0])
		}
	}
	return ""
}

// serviceOf looks at keys that stand in the attributes themselves, not at references.
func serviceOf(resource []*commonv1.KeyValue) string {
	service := "unknown_service"
	for _, pair := range resource {
		value := text(pair.Value)
		if pair.Key == serviceKey && value != "" {
			return value
		}
		if pair.Key == "process.executable.name" && value != "" {
			service += ":" + value
		}
	}
	return service
}

// seriesLabels has a label without a name for a number whose key is a reference, which is refused then.
func seriesLabels(name, service string, resource, scope []*commonv1.KeyValue) []*typesv1.LabelPair {
	labels := []*typesv1.LabelPair{
		{Name: "__delta__", Value: "false"}, {Name: "__otel__", Value: "true"}, {Name: "__name__", Value: name}}
	seen := map[string]bool{"__name__": true}
	for _, pair := range slices.Concat(resource, scope) {
		if value := text(pair.Value); value != "" && !seen[pair.Key] {
			seen[pair.Key] = true
			labels = append(labels, &typesv1.LabelPair{Name: pair.Key, Value: value})
		}
	}
	return append(labels, &typesv1.LabelPair{Name: "service_name", Value: service})
}

func at[T any](table []T, index int32, what string) (T, error) {
	if index < 0 || int(index) >= len(table) {
		var none T
		return none, fmt.Errorf("%s %d is not in its table of %d", what, index, len(table))
	}
	return table[index], nil
}

type label struct{ name, value string }

// sampleLabels gives the service that a sample names, "" if none, and its other attributes.
func sampleLabels(tables *profilesv1.ProfilesDictionary, sample *profilesv1.Sample) (service string, labels []label, err error) {
	named := false
	for _, index := range sample.AttributeIndices {
		attribute, err := at(tables.AttributeTable, index, "attribute")
		if err != nil {
			return "", nil, err
		}
		key, err := at(tables.StringTable, attribute.KeyStrindex, "key")
		if err != nil {
			return "", nil, err
		}
		value := text(attribute.Value)
		if key != serviceKey {
			if value != "" {
				labels = append(labels, label{key, value})
			}
		} else if !named {
			service, named = value, true
		}
	}
	return service, labels, nil
}

// A converter makes a pprof of the samples of one service in a profile.
type converter struct {
	tables    *profilesv1.ProfilesDictionary
	to        *googlev1.Profile
	name      string // of the profile: its __name__
	unit      int64  // what values are multiplied by
	strings   map[string]int64
	functions map[int32]uint64 // ids, by the index in the dictionary
	locations map[int32]uint64
	mappings  map[int32]uint64
}

func newConverter(tables *profilesv1.ProfilesDictionary, from *profilesv1.Profile) (*converter, error) {
	c := &converter{
		tables: tables, unit: 1, strings: map[string]int64{},
		functions: map[int32]uint64{}, locations: map[int32]uint64{}, mappings: map[int32]uint64{},
		to: &googlev1.Profile{TimeNanos: int64(from.TimeUnixNano), DurationNanos: int64(from.DurationNano), Period: from.Period},
	}
	c.string("")
	if c.to.TimeNanos == 0 {
		c.to.TimeNanos = time.Now().UnixNano()
	}
	if from.SampleType == nil {
		return nil, errors.New("there is no sample type")
	}
	sample, err := c.names(from.SampleType)
	if err != nil {
		return nil, err
	}
	period := [2]string{}
	if from.PeriodType != nil {
		if period, err = c.names(from.PeriodType); err != nil {
			return nil, err
		}
		c.to.PeriodType = c.valueType(period)
	}
	c.name = period[0]
	if from.Period == 0 {
		c.name = ""
	} else if sample == [2]string{"samples", "count"} && period == [2]string{"cpu", "nanoseconds"} {
		c.name, c.unit, sample = "process_cpu", from.Period, period
	}
	c.to.SampleType = []*googlev1.ValueType{c.valueType(sample)}
	return c, nil
}

func (c *converter) string(text string) int64 {
	index, there := c.strings[text]
	if !there {
		index = int64(len(c.to.StringTable))
		c.strings[text] = index
		c.to.StringTable = append(c.to.StringTable, text)
	}
	return index
}

// lookUp gives the place in the pprof of a text of the dictionary.
func (c *converter) lookUp(index int32) (int64, error) {
	text, err := at(c.tables.StringTable, index, "string")
	return c.string(text), err
}

func (c *converter) names(of *profilesv1.ValueType) (names [2]string, err error) {
	if names[0], err = at(c.tables.StringTable, of.TypeStrindex, "type"); err == nil {
		names[1], err = at(c.tables.StringTable, of.UnitStrindex, "unit")
	}
	return names, err
}

func (c *converter) valueType(names [2]string) *googlev1.ValueType {
	return &googlev1.ValueType{Type: c.string(names[0]), Unit: c.string(names[1])}
}

func (c *converter) add(from *profilesv1.Sample, labels []label) error {
	to := &googlev1.Sample{Value: slices.Clone(from.Values)}
	if len(to.Value) == 0 && len(from.TimestampsUnixNano) > 0 {
		to.Value = []int64{int64(len(from.TimestampsUnixNano))}
	}
	if len(to.Value) != 1 {
		return fmt.Errorf("a sample with %d values", len(to.Value))
	}
	to.Value[0] *= c.unit
	for _, label := range labels {
		to.Label = append(to.Label, &googlev1.Label{Key: c.string(label.name), Str: c.string(label.value)})
	}
	stack, err := at(c.tables.StackTable, from.StackIndex, "stack")
	if err != nil {
		return err
	}
	for _, index := range stack.LocationIndices {
		id, err := c.location(index)
		if err != nil {
			return err
		}
		to.LocationId = append(to.LocationId, id)
	}
	c.to.Sample = append(c.to.Sample, to)
	return nil
}

func (c *converter) location(index int32) (uint64, error) {
	if id, there := c.locations[index]; there {
		return id, nil
	}
	from, err := at(c.tables.LocationTable, index, "location")
	if err != nil {
		return 0, err
	}
	mapping, err := c.mapping(from.MappingIndex)
	if err != nil {
		return 0, err
	}
	to := &googlev1.Location{MappingId: mapping, Address: from.Address}
	for _, line := range from.Lines {
		id, err := c.function(line.FunctionIndex)
		if err != nil {
			return 0, err
		}
		to.Line = append(to.Line, &googlev1.Line{FunctionId: id, Line: line.Line})
	}
	c.to.Location = append(c.to.Location, to)
	to.Id = uint64(len(c.to.Location))
	c.locations[index] = to.Id
	return to.Id, nil
}

// mapping takes it for granted that names and lines are known, as they are of frames of Python.
func (c *converter) mapping(index int32) (uint64, error) {
	if id, there := c.mappings[index]; there {
		return id, nil
	}
	from, err := at(c.tables.MappingTable, index, "mapping")
	if err != nil {
		return 0, err
	}
	to := &googlev1.Mapping{MemoryStart: from.MemoryStart, MemoryLimit: from.MemoryLimit, FileOffset: from.FileOffset,
		HasFunctions: true, HasFilenames: true, HasLineNumbers: true}
	if to.Filename, err = c.lookUp(from.FilenameStrindex); err != nil {
		return 0, err
	}
	c.to.Mapping = append(c.to.Mapping, to)
	to.Id = uint64(len(c.to.Mapping))
	c.mappings[index] = to.Id
	return to.Id, nil
}

func (c *converter) function(index int32) (uint64, error) {
	if id, there := c.functions[index]; there {
		return id, nil
	}
	from, err := at(c.tables.FunctionTable, index, "function")
	if err != nil {
		return 0, err
	}
	to := &googlev1.Function{StartLine: from.StartLine}
	for _, name := range []struct {
		from int32
		to   *int64
	}{{from.NameStrindex, &to.Name}, {from.SystemNameStrindex, &to.SystemName}, {from.FilenameStrindex, &to.Filename}} {
		if *name.to, err = c.lookUp(name.from); err != nil {
			return 0, err
		}
	}
	c.to.Function = append(c.to.Function, to)
	to.Id = uint64(len(c.to.Function))
	c.functions[index] = to.Id
	return to.Id, nil
}
