export { createSchemaChecks, type SchemaChecks } from './checks.ts';
