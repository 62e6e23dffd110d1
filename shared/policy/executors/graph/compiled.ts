import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { GraphOptions, Graphs, NativeExecutor, Shape, Sizes, Tensor } from '../executor.ts';
import { isTensor } from '../tensor.ts';
import { SERVE, savedModel } from './graph-def.ts';
import { NotRecordable, Recorder, type Recording, sizesFeed, sourceOf } from './recorder.ts';

/** The part of the addon that holds and runs graphs. */
export type GraphBinding = {
  loadSavedModel(folder: string, tags: string): number;
  deleteSavedModel(id: number): void;
  runSavedModel(
    id: number,
    inputs: readonly number[],
    inputNames: string,
    outputNames: string,
  ): { readonly id: number; readonly shape: number[]; readonly dtype: number }[];
};

/** The parts of the executor that the graphs use. */
type GraphHost = {
  readonly binding: GraphBinding;
  readonly idOf: (tensor: Tensor) => number;
  readonly adopt: (output: { id: number; shape: number[]; dtype: number }) => Tensor;
  readonly upload: (values: Int32Array, shape: Shape) => Tensor;
  readonly dispose: (tree: unknown) => void;
  /** Called once per compiled graph; ms: of compilation and first run. */
  readonly onCompiled: (event: {
    readonly name: string;
    readonly nodes: number;
    readonly ms: number;
  }) => void;
};

/** At most this many graphs stay loaded, and this many plans are kept; the least recently used are dropped. */
const [MAX_GRAPHS, MAX_PLANS] = [48, 256];

/** How to run a graph with one set of sizes. Nodes are not kept: a dropped graph is recorded again. */
type Plan = Pick<Recording, 'sizes'> & {
  /** Identifies the graph; equal for recordings that differ only in fed sizes. */
  readonly graph: string;
  /** Sources of all fed and all fetched tensors, `name:output`, separated by commas. */
  readonly feeds: string;
  readonly fetches: string;
  readonly inputNames: readonly string[];
  readonly fetchNames: readonly string[];
  /** The result of the body, with recorded tensors. */
  readonly outputs: unknown;
};

export function createGraphs(host: GraphHost): Graphs {
  const plans = new Map<string, Plan>();
  const sessions = new Map<string, number>();

  const keepLoaded = (graph: string, id: number): number => {
    sessions.set(graph, id);
    if (sessions.size > MAX_GRAPHS) {
      const [oldest, dropped] = sessions.entries().next().value!;
      sessions.delete(oldest);
      host.binding.deleteSavedModel(dropped);
    }
    return id;
  };
  const runPlan = (session: number, plan: Plan, fed: readonly Tensor[]): unknown => {
    const { sizes, feeds, fetches } = plan;
    const sizeTensors = sizes.length === 0 ? [] : [host.upload(Int32Array.from(sizes), [sizes.length])];
    const ids = [...fed, ...sizeTensors].map(host.idOf);
    const made = fetches === '' ? [] : host.binding.runSavedModel(session, ids, feeds, fetches);
    host.dispose(sizeTensors);
    const bySource = new Map<string, Tensor>();
    made.forEach((output, index) => void bySource.set(plan.fetchNames[index]!, host.adopt(output)));
    plan.inputNames.forEach((source, index) => void bySource.set(source, fed[index]!));
    return mapLeaves(plan.outputs, (leaf) => (isTensor(leaf) ? bySource.get(sourceOf(leaf))! : leaf));
  };

  return {
    run<Inputs, Outputs>(
      { name, sizes }: GraphOptions,
      inputs: Inputs,
      body: (executor: NativeExecutor, inputs: Inputs) => Outputs,
    ): Outputs {
      const uploaded: Tensor[] = [];
      const fed: Tensor[] = [];
      const key = [name, sizes];
      flatten(inputs, key, (leaf) => {
        if (!(leaf instanceof Int32Array)) return void fed.push(leaf);
        const tensor = host.upload(leaf, [leaf.length]);
        uploaded.push(tensor);
        fed.push(tensor);
      });
      const keyText = key.join(' ');
      const known = plans.get(keyText);
      const session = known && sessions.get(known.graph);
      const start = performance.now();
      let outputs: unknown;
      if (known !== undefined && session !== undefined) {
        renew(plans, keyText, known);
        outputs = runPlan(renew(sessions, known.graph, session), known, fed);
      } else {
        const { plan, recording } = record(sizes, inputs, body);
        renew(plans, keyText, plan);
        if (plans.size > MAX_PLANS) plans.delete(plans.keys().next().value!);
        const loaded = sessions.get(plan.graph);
        outputs = runPlan(loaded ?? keepLoaded(plan.graph, load(host.binding, recording)), plan, fed);
        if (loaded === undefined)
          host.onCompiled({ name, nodes: recording.nodes.length, ms: Math.round(performance.now() - start) });
      }
      host.dispose(uploaded);
      return outputs as Outputs;
    },
    get count() {
      return sessions.size;
    },
    clear() {
      for (const id of sessions.values()) host.binding.deleteSavedModel(id);
      sessions.clear();
      plans.clear();
    },
  };
}

/** Runs the body on a recorder. */
function record<Inputs>(
  sizes: Sizes,
  inputs: Inputs,
  body: (executor: NativeExecutor, inputs: Inputs) => unknown,
): { readonly plan: Plan; readonly recording: Recording } {
  const recorder = new Recorder(sizes);
  const inputNames: string[] = [];
  const outputs = body(
    recorder.executor,
    mapLeaves(inputs, (leaf) => {
      if (!isTensor(leaf) && !(leaf instanceof Int32Array)) return leaf;
      const input = isTensor(leaf)
        ? recorder.input(leaf.shape, leaf.type ?? 'float32')
        : recorder.input([leaf.length], 'int32');
      inputNames.push(sourceOf(input));
      return input;
    }) as Inputs,
  );
  const recording = recorder.recording();
  const made = new Set<string>();
  mapLeaves(outputs, (leaf) => void (isTensor(leaf) && made.add(sourceOf(leaf))));
  const fed = new Set(inputNames);
  const fetchNames = [...made].filter((source) => !fed.has(source));
  const plan = {
    graph: fingerprint(recording),
    sizes: recording.sizes,
    feeds: [...inputNames, ...(recording.sizes.length === 0 ? [] : [`${sizesFeed}:0`])].join(','),
    fetches: fetchNames.join(','),
    inputNames,
    fetchNames,
    outputs,
  };
  return { plan, recording };
}

/** Moves an entry to the end of a map, which is in order of use. */
function renew<Value>(map: Map<string, Value>, key: string, value: Value): Value {
  map.delete(key);
  map.set(key, value);
  return value;
}

/** Hash of a graph's nodes, without the tensors that are fed at every run. */
function fingerprint({ nodes }: Recording): string {
  const hash = createHash('sha256');
  for (const { name, op, inputs, attributes, shape, value } of nodes) {
    hash.update(`${name}=${op}(${inputs})${JSON.stringify(attributes)}${shape ?? '?'}`);
    if (value !== undefined) hash.update(`${value.shape}:${value.values}`);
    hash.update('\n');
  }
  return hash.digest('hex');
}

function load(binding: GraphBinding, { nodes }: Recording): number {
  const folder = mkdtempSync(join(tmpdir(), `clawloop-graph-${process.pid}-`));
  try {
    writeFileSync(join(folder, 'saved_model.pb'), savedModel(nodes));
    return binding.loadSavedModel(folder, SERVE);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * A copy of a tree of arrays and plain objects with every leaf replaced. Tensors and typed arrays are leaves.
 */
function mapLeaves(tree: unknown, change: (leaf: unknown) => unknown): unknown {
  if (typeof tree !== 'object' || tree === null || ArrayBuffer.isView(tree) || isTensor(tree))
    return change(tree);
  if (Array.isArray(tree)) return tree.map((branch) => mapLeaves(branch, change));
  refuseMap(tree);
  return Object.fromEntries(Object.entries(tree).map(([key, branch]) => [key, mapLeaves(branch, change)]));
}

/**
 * Visits the fed leaves in the order of mapLeaves, and adds all other leaves and all shapes to the key.
 */
function flatten(tree: unknown, key: string[], visit: (leaf: Tensor | Int32Array) => void): void {
  if (typeof tree !== 'object' || tree === null) key.push(JSON.stringify(tree) ?? typeof tree);
  else if (tree instanceof Int32Array) {
    key.push(`i${tree.length}`);
    visit(tree);
  } else if (isTensor(tree)) {
    key.push(`${tree.type ?? 'float32'}[${tree.shape}]`);
    visit(tree);
  } else if (Array.isArray(tree)) {
    key.push(`(${tree.length}`);
    for (const branch of tree) flatten(branch, key, visit);
  } else {
    refuseMap(tree);
    key.push('{');
    for (const [name, branch] of Object.entries(tree)) {
      key.push(name);
      flatten(branch, key, visit);
    }
    key.push('}');
  }
}

function refuseMap(tree: object): void {
  if (tree instanceof Map || ArrayBuffer.isView(tree))
    throw new NotRecordable(`a graph cannot take or return a ${tree.constructor.name}`);
}
