{
  "$schema": "./node_modules/knip/schema.json",
  "entry": [
    "services/*/{main,deep-audit}.ts",
    "services/trainer/replay.ts",
    "**/*-{worker,thread}.ts",
    "shared/log/sqlite/worker.ts",
    "shared/claw-nano/make.ts",
    "services/judge/ear/train/make.ts",
    "infra/**/*.{ts,js}",
    "examples/**/*.{ts,js}",
    "test/**/*.ts",
    "**/testing/**/*.ts"
  ],
  "project": ["{services,shared,clients,infra,test,examples}/**/*.{ts,js}"],
  "ignoreBinaries": [
    "java",
    "pgrep",
    "mvn",
    "mount",
    "umount",
    "openssl",
    "redis-server",
    "setpriv",
    "unshare"
  ],
  "ignoreDependencies": ["@swc/core"]
}
