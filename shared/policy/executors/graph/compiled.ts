import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NativeExecutor } from '../native.ts';
import { isTensor, type Shape, type Tensor } from '../tensor.ts';
import { SERVE, savedModel } from './graph-def.ts';
import { createRecorder, NotRecordable, type Recording, type Sizes, sourceOf } from './recorder.ts';

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

export type GraphOptions = {
  /** Says what the graph computes, for a person and as part of its key. */
  readonly name: string;
  readonly sizes: Sizes;
};

/**
 * Functions of tensors, each recorded once as a graph and then run in one native call.
 *
 * `body` must be a pure function of its inputs: whatever in them is not a tensor or a list of integers, and
 * the shapes of what is, is part of the key under which the recording is kept. Int32Arrays are uploaded and
 * reach the body as tensors.
 */
export type Graphs = {
  run<Inputs, Outputs>(
    options: GraphOptions,
    inputs: Inputs,
    body: (executor: NativeExecutor, inputs: Inputs) => Outputs,
  ): Outputs;
  /** Graphs that are loaded now. */
  readonly count: number;
  /** Drops all graphs. */
  clear(): void;
};

/** What the graphs need of the executor that they belong to. */
export type GraphHost = {
  readonly binding: GraphBinding;
  readonly idOf: (tensor: Tensor) => number;
  readonly adopt: (output: { id: number; shape: number[]; dtype: number }) => Tensor;
  readonly upload: (values: Int32Array, shape: Shape) => Tensor;
  readonly integers: (values: readonly number[] | number) => Tensor;
  readonly dispose: (tree: unknown) => void;
  /** Told once per graph that was made: its name, its nodes and how long that and its first run took, ms. */
  readonly onCompiled: (event: {
    readonly name: string;
    readonly nodes: number;
    readonly ms: number;
  }) => void;
};

/** So many graphs stay loaded, the least lately used is dropped; so many sizes are remembered. */
const [MAX_GRAPHS, MAX_PLANS] = [48, 1024];

type Plan = {
  /** Names the graph: equal for recordings that differ in fed sizes only. */
  readonly graph: string;
  readonly recording: Recording;
  readonly inputNames: readonly string[];
  readonly fetches: readonly string[];
  /** What the body returned: its tensors are recorded ones. */
  readonly outputs: unknown;
};

export function createGraphs(host: GraphHost): Graphs {
  const plans = new Map<string, Plan>();
  const sessions = new Map<string, number>();

  const record = <Inputs>(
    sizes: Sizes,
    inputs: Inputs,
    body: (executor: NativeExecutor, inputs: Inputs) => unknown,
  ): Plan => {
    const recorder = createRecorder(sizes);
    const inputNames: string[] = [];
    const symbolic = mapTensors(inputs, (tensor) => {
      const input = recorder.input(tensor.shape, tensor.type ?? 'float32');
      inputNames.push(sourceOf(input));
      return input;
    });
    const outputs = body(recorder.executor, symbolic);
    const recording = recorder.recording();
    const fed = new Set(inputNames);
    const fetches = new Set<string>();
    mapTensors(outputs, (tensor) => {
      if (!fed.has(sourceOf(tensor))) fetches.add(sourceOf(tensor));
      return tensor;
    });
    return {
      graph: fingerprint(recording),
      recording,
      inputNames,
      fetches: [...fetches],
      outputs,
    };
  };
  const sessionOf = ({ graph, recording }: Plan): number => {
    const known = sessions.get(graph);
    if (known !== undefined) return renew(sessions, graph, known);
    const id = load(host.binding, recording);
    sessions.set(graph, id);
    if (sessions.size > MAX_GRAPHS) {
      const [oldest, dropped] = sessions.entries().next().value!;
      sessions.delete(oldest);
      host.binding.deleteSavedModel(dropped);
    }
    return id;
  };

  return {
    run<Inputs, Outputs>(
      { name, sizes }: GraphOptions,
      inputs: Inputs,
      body: (executor: NativeExecutor, inputs: Inputs) => Outputs,
    ): Outputs {
      const own: Tensor[] = [];
      const key: string[] = [name, sizes];
      const fed: Tensor[] = [];
      const real = mapLeaves(inputs, (leaf) => {
        if (leaf instanceof Int32Array) {
          const tensor = host.upload(leaf, [leaf.length]);
          own.push(tensor);
          fed.push(tensor);
          key.push(`i${leaf.length}`);
          return tensor;
        }
        if (typeof leaf === 'object' && leaf !== null && isTensor(leaf)) {
          fed.push(leaf);
          key.push(`${leaf.type ?? ''}[${leaf.shape}]`);
        } else key.push(JSON.stringify(leaf) ?? typeof leaf);
        return leaf;
      }) as Inputs;
      const keyText = key.join(' ');
      let plan = plans.get(keyText);
      if (plan === undefined) {
        plan = record(sizes, real, body);
        plans.set(keyText, plan);
        if (plans.size > MAX_PLANS) plans.delete(plans.keys().next().value!);
      }
      const start = performance.now();
      const isNew = !sessions.has(plan.graph);
      const session = sessionOf(plan);
      const { recording, inputNames, fetches, outputs } = plan;
      const shapes = recording.shapeFeeds.map(({ values }) => host.integers(values));
      const made =
        fetches.length === 0
          ? []
          : host.binding.runSavedModel(
              session,
              [...fed, ...shapes].map(host.idOf),
              [...inputNames, ...recording.shapeFeeds.map((feed) => `${feed.name}:0`)].join(','),
              fetches.join(','),
            );
      host.dispose(own);
      if (isNew)
        host.onCompiled({ name, nodes: recording.nodes.length, ms: Math.round(performance.now() - start) });
      const bySource = new Map<string, Tensor>(inputNames.map((source, index) => [source, fed[index]!]));
      made.forEach((output, index) => void bySource.set(fetches[index]!, host.adopt(output)));
      return mapTensors(outputs, (tensor) => bySource.get(sourceOf(tensor))!) as Outputs;
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

/** Moves an entry to the end of a map: the order is that of use. */
function renew<Value>(map: Map<string, Value>, key: string, value: Value): Value {
  map.delete(key);
  map.set(key, value);
  return value;
}

/** Of all that makes up a graph; what is fed at every run does not. */
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

/** A copy of a tree of arrays and plain objects with every leaf replaced; tensors and typed arrays are leaves. */
function mapLeaves(tree: unknown, change: (leaf: unknown) => unknown): unknown {
  if (typeof tree !== 'object' || tree === null || ArrayBuffer.isView(tree) || isTensor(tree))
    return change(tree);
  if (Array.isArray(tree)) return tree.map((branch) => mapLeaves(branch, change));
  if (tree instanceof Map) throw new NotRecordable('a map was given to a graph, or returned by one');
  return Object.fromEntries(Object.entries(tree).map(([key, branch]) => [key, mapLeaves(branch, change)]));
}

const mapTensors = <Tree>(tree: Tree, change: (tensor: Tensor) => Tensor): Tree =>
  mapLeaves(tree, (leaf) =>
    typeof leaf === 'object' && leaf !== null && isTensor(leaf) ? change(leaf) : leaf,
  ) as Tree;
