// Configuration: read, checked, merged, expanded, described and edited. Placeholders are filled in by `expandServer` alone,
// and only for a server that may be launched.
export { describeServer, hideInUrl, type ServerDescription } from './describe.ts';
export { type Diagnostic, type DiagnosticLevel, formatDiagnostic } from './diagnostic.ts';
export { addServer, type AddOptions, type Edited, type EditPlace, removeServer, setEnabled } from './edit.ts';
export { type AskInput, expandServer, type Surroundings } from './expand-server.ts';
export { type Loaded, loadConfig, type LoadOptions } from './load.ts';
export { programName, startFolder } from './lookup.ts';
export { type ConfigPaths, configPaths, ownFolders, type Standpoint } from './paths.ts';
export type {
  HostConfig,
  HostSettings,
  HttpLaunch,
  InputPrompt,
  Launch,
  OAuthSettings,
  RecordSettings,
  Rule,
  Rules,
  Scope,
  ServerConfig,
  ServerDefinition,
  ServerSettings,
  Source,
  StdioLaunch,
} from './shape.ts';
export { writeWhole, type WriteOptions } from './write.ts';
