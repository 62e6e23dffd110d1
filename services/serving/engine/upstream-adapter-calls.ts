import { z } from 'zod';
import type { UpstreamHttp } from './upstream-http.ts';
import type { AdapterCalls } from './upstream-models.ts';
import { messageOf } from './upstream-refusal.ts';

const ModelList = z.looseObject({
  data: z.array(z.looseObject({ id: z.string(), root: z.string().nullish(), parent: z.string().nullish() })),
});

type Addresses = { readonly models: string; readonly load: string; readonly unload: string };

const LIST_LIMIT_MS = 10_000;
/** SGLang ends the answers of an adapter before it lets it go. */
const LOAD_LIMIT_MS = 120_000;

/**
 * How adapters are moved: vLLM under /v1 (where VLLM_ALLOW_RUNTIME_LORA_UPDATING is set), SGLang at the root;
 * both take `lora_name` and `lora_path`.
 */
export const adapterCalls = (http: UpstreamHttp, addresses: Addresses): AdapterCalls => ({
  list: async () => {
    const { status, text } = await http.call(addresses.models, LIST_LIMIT_MS);
    if (status !== 200) throw new Error(`${addresses.models} answers ${status}: ${messageOf(text)}`);
    return ModelList.parse(JSON.parse(text)).data.map(({ id, root, parent }) => ({
      id,
      root: root ?? null,
      parent: parent ?? null,
    }));
  },
  load: async (lora_name, lora_path) => {
    const { status, text } = await http.call(addresses.load, LOAD_LIMIT_MS, { lora_name, lora_path });
    if (status === 200 || /already/i.test(messageOf(text))) return; // by another replica
    throw new Error(
      `the upstream engine does not take ${lora_path}: ${hint(status, text)}${messageOf(text)}`,
    );
  },
  unload: async (lora_name) => {
    const { status, text } = await http.call(addresses.unload, LOAD_LIMIT_MS, { lora_name });
    if (status === 200 || status === 404) return; // by another replica
    if (/cannot be found|not (?:been )?loaded|does not exist/i.test(messageOf(text))) return;
    throw new Error(`status ${status}: ${messageOf(text)}`);
  },
});

/** vLLM also says 404 where it finds no adapter in the folder: then it has the call, and says so. */
const hint = (status: number, text: string): string =>
  status === 404 && !/adapter/i.test(messageOf(text))
    ? 'it has no such call (vLLM needs --enable-lora and VLLM_ALLOW_RUNTIME_LORA_UPDATING=True): '
    : '';
